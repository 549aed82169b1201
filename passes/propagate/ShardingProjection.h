//===- ShardingProjection.h - shardings of an operation's factors -*- C++ -*-===//
//
// An operation's sharding rule maps each dimension to factors. The projection converts the shardings of an operation's
// operands and results (axes per dimension) to axes per factor, which propagation compares and extends across arrays,
// and converts them back. Strategies use the simpler projection of passes/sharding/FactorAxes.h.
//
// An example on the mesh a=4, b=2:
//
//     reshape f32[8] -> f32[2, 4]        rule ([ij]) -> ([i, j]) {i=2, j=4}
//
//                        i           j
//     operand 8@(a, b)   [a:(1)2]    [a:(2)2, b]     a dimension's axes fill its factors from the major end; an axis
//     result  2, 4       []          []              larger than the rest of a factor is split into parts
//
//  extending the result's factors to the operand's gives
//     result             [a:(1)2]    [a:(2)2, b]     -> 2@a:(1)2, 4@(a:(2)2, b)
//
//  In the other direction, from 2@a:(1)2, 4@a:(2)2 to the operand, the axes of the dimension's factors are
//  concatenated, and adjacent parts of an axis become one: 8@a.
//
// In a dimension of several factors, a minor factor can be sharded only if every factor major to it is sharded into
// single elements; otherwise the shards would be strided. So the conversion back drops the axes after the first factor
// that is not. If an axis has no common divisor with the rest of a factor, this axis and all after it are `overflow` of
// the factor: they shard the dimension, but belong to no factor, and no axis can be added after them. There is one
// exception: axes whose devices are fewer than the major factor's elements all belong to that factor, even if they do
// not divide it. Shards are then runs of elements of uneven size, whose ends an operation that merges or splits
// dimensions exchanges.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "ir/interfaces/ShardingRule.h"
#include "passes/sharding/TensorSharding.h"

#include <optional>

namespace spmdc {

/// The sharding of one factor on one array.
struct FactorSharding {
  AxisList axes;
  AxisList overflow;
  bool isClosed = false;
  /// The dimension has no other factor, except one for the shards of a manual region (FactorKind::ManualShards). Only
  /// such a factor may be sharded unevenly over any axes: with further factors, the padding would be between elements
  /// in another array of the operation.
  bool isAlone = true;
  /// The major factor of its dimension. It may be sharded unevenly if no other factor is sharded (isRun).
  bool isMajor = true;
  bool operator==(const FactorSharding &) const = default;
};

/// Whether a dimension whose major factor alone is sharded, over these axes, has uneven runs of that factor's elements
/// as shards: fewer devices than elements, and no even division.
bool isRun(int64_t factorSize, llvm::ArrayRef<AxisPart> axes);

/// The factor shardings of one array of an operation.
class TensorProjection {
public:
  TensorProjection(const TensorSharding &sharding, llvm::ArrayRef<DimFactors> dimFactors,
                   llvm::ArrayRef<Factor> factors);

  /// Null if the array does not have the factor.
  const FactorSharding *getFactor(int64_t factor) const {
    return factorShardings[factor] ? &*factorShardings[factor] : nullptr;
  }
  /// Axes that no factor may take: those of dimensions without factors, and those that the array excludes.
  llvm::ArrayRef<AxisPart> getBlocked() const { return blocked; }
  int64_t getNumFactors() const { return factorShardings.size(); }
  /// The product of the sizes of the array's factors.
  int64_t getSize() const { return size; }

  /// Replaces the factor's axes with `axes` if these extend them; returns whether anything changed.
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
