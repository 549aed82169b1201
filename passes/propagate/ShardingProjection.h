//===- ShardingProjection.h - dimensions seen as factors --------*- C++ -*-===//
//
// An operation's sharding rule says of which factors each dimension is made. The projection turns the shardings of an
// operation's operands and results (axes per dimension) into axes per factor, where they can be compared and extended
// across arrays, and turns the outcome back into axes per dimension.
//
// One rule from projecting to projecting back, on the mesh a=4, b=2:
//
//     reshape f32[8] -> f32[2, 4]        rule ([ij]) -> ([i, j]) {i=2, j=4}
//
//                        i           j
//     operand 8@(a, b)   [a:(1)2]    [a:(2)2, b]     a dimension's axes fill its factors from the major end; an axis
//     result  2, 4       []          []              that is larger than what is left of a factor is cut
//
//  extend the result's factors to the operand's:
//     result             [a:(1)2]    [a:(2)2, b]     -> 2@a:(1)2, 4@(a:(2)2, b)
//
//  and the other way round, from 2@a:(1)2, 4@a:(2)2 to the operand: the factors of one dimension are joined, and parts
//  of an axis that follow one another become one: 8@a.
//
// Where a dimension is a product of factors, a minor factor can only be cut once every factor major to it is cut into
// single elements (a device would otherwise own a strided set); projecting back leaves out what comes after a factor
// that is not. Sizes that share no divisor with the next axis make that axis and all after it `overflow` of the factor:
// they belong to the dimension, but to no factor, and nothing may be added behind them. Axes that all fit the major
// factor stay its own, though: pieces are runs of elements, and what joins or splits them exchanges their ends.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "ir/interfaces/ShardingRule.h"
#include "passes/sharding/TensorSharding.h"

#include <optional>

namespace spmdc {

struct FactorSharding {
  AxisList axes;
  AxisList overflow;
  bool isClosed = false;
  /// The dimension has no other factor but for that of pieces, which are arrays of their own. Only then may sizes be
  /// uneven over any axes: padding at the end of a dimension would otherwise come to lie between the elements of
  /// another array.
  bool isAlone = true;
  /// The major factor of its dimension, which may be uneven if no other is cut (isRun).
  bool isMajor = true;
  bool operator==(const FactorSharding &) const = default;
};

/// Whether pieces of a dimension are uneven runs of elements of its major factor where that alone is cut, by these
/// axes.
bool isRun(int64_t factorSize, llvm::ArrayRef<AxisPart> axes);

/// One array of an operation.
class TensorProjection {
public:
  TensorProjection(const TensorSharding &sharding, llvm::ArrayRef<DimFactors> dimFactors,
                   llvm::ArrayRef<Factor> factors);

  /// Null where the array does not have the factor.
  const FactorSharding *getFactor(int64_t factor) const {
    return factorShardings[factor] ? &*factorShardings[factor] : nullptr;
  }
  /// Axes in use that belong to no factor, and axes that may not be used.
  llvm::ArrayRef<AxisPart> getBlocked() const { return blocked; }
  int64_t getNumFactors() const { return factorShardings.size(); }
  /// Product of the sizes of the array's factors.
  int64_t getSize() const { return size; }

  /// Replaces the factor's axes by a list that extends them; returns whether anything changed.
  bool extend(int64_t factor, llvm::ArrayRef<AxisPart> axes);

  /// The axes of each dimension.
  llvm::SmallVector<AxisList, 4> projectBack() const;

private:
  void projectDim(const TensorSharding::Dim &dim, const DimFactors &factorsOfDim);

  llvm::ArrayRef<DimFactors> dimFactors;
  llvm::ArrayRef<Factor> factors;
  llvm::SmallVector<std::optional<FactorSharding>, 4> factorShardings;
  /// Axes of dimensions that have no factor, by dimension.
  llvm::SmallVector<AxisList, 4> unmapped;
  AxisList blocked;
  int64_t size = 1;
};

/// All arrays of an operation: operands first, then results. The rule must outlive the projection.
class ShardingProjection {
public:
  ShardingProjection(const ShardingRule &rule, llvm::ArrayRef<const TensorSharding *> shardings);

  const ShardingRule &getRule() const { return rule; }
  unsigned getNumOperands() const { return rule.operands.size(); }
  llvm::ArrayRef<TensorProjection> getTensors() const { return tensors; }
  llvm::ArrayRef<TensorProjection> getOperands() const { return getTensors().take_front(getNumOperands()); }
  llvm::ArrayRef<TensorProjection> getResults() const { return getTensors().drop_front(getNumOperands()); }
  TensorProjection &getTensor(unsigned index) { return tensors[index]; }

private:
  const ShardingRule &rule;
  llvm::SmallVector<TensorProjection, 4> tensors;
};

} // namespace spmdc
