//===- ShardingRule.h - sharding rules of operations ------------*- C++ -*-===//
//
// Factor-based sharding rules, as Shardy defines them: an operation's iteration space is a list of factors; every
// dimension of every operand and result is an ordered product of factors (major to minor). Two dimensions that share a
// factor can be sharded alike along it.
//
// Example, a matrix product f32[8, 16] x f32[16, 4] -> f32[8, 4]:
//     factors   i = 8 (pass-through)  j = 4 (pass-through)  k = 16 (reduction)
//     operands  [i, k], [k, j]        results [i, j]
// Example, reshape f32[8, 6] -> f32[2, 4, 6]: factors p = 2, q = 4, r = 6; operand [p q, r]; result [p, q, r].
//
//===----------------------------------------------------------------------===//
#pragma once

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"

#include <cstdint>
#include <string>

namespace spmdc {

/// The effect of sharding along a factor on the local operation.
enum class FactorKind {
  PassThrough, ///< Each device computes its shard; nothing to combine.
  Reduction,   ///< Each device has a partial result; they are combined by the operation's reduction.
  Combined, ///< Each device computes its shard; the collectives that createLocal builds complete it (scan, arg_reduce).
  Permutation, ///< Elements move along it (getMoves): all values get the same sharding, and devices exchange elements.
  NeedReplication, ///< The operation needs this factor replicated.
  /// Only on the edges of a manual region: the shards over the region's manual axes. It is the major factor of a
  /// dimension outside of the region; the minor factor is the dimension inside.
  ManualShards,
};

struct Factor {
  int64_t size = 1;
  FactorKind kind = FactorKind::PassThrough;
};

/// The factors of one dimension, major to minor. Empty for a dimension of size 1 that has no factor.
using DimFactors = llvm::SmallVector<int64_t, 1>;
/// One entry for each dimension.
using ValueFactors = llvm::SmallVector<DimFactors, 4>;

struct ShardingRule {
  llvm::SmallVector<Factor, 4> factors;
  llvm::SmallVector<ValueFactors, 2> operands;
  llvm::SmallVector<ValueFactors, 1> results;

  /// Adds a factor and returns its number.
  int64_t addFactor(int64_t size, FactorKind kind = FactorKind::PassThrough);

  /// `([i, k], [k, j]) -> ([i, j]) {i=8, j=4, k=16} reduction={k}`, with letters from i on.
  std::string str() const;

  /// The rule of an element-wise operation: all operands and results have these dimensions.
  static ShardingRule elementwise(llvm::ArrayRef<int64_t> shape, unsigned numOperands, unsigned numResults = 1);
};

} // namespace spmdc
