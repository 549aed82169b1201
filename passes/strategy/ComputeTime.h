//===- ComputeTime.h - the time that devices compute ------------*- C++ -*-===//
#pragma once

#include "passes/strategy/Strategy.h"

namespace spmdc {

/// Threshold for gathering an array before a loop of which each iteration reads a part: the array is gathered once,
/// before the loop, only if that makes the iterations at least this many times faster, because the gathered copy needs
/// more memory than a shard. With latency L and rate r, gathering n parts of b bytes at once takes L + n b / r;
/// gathering each part in its iteration, or broadcasting it from its owner, takes n (L + b / r). The former is 4 times
/// faster only if b < L r / 3, 17 KB by the default rates, where latency dominates. So a device holds at most 17 KB for
/// each latency that is saved: the steps of a recurrence are gathered, the weights of layers (FSDP) are not.
inline constexpr double kWorthHolding = 4;

/// Whether memory comes before time in the operation's module (LowMemory.h).
bool savesMemory(mlir::Operation *op);

/// The factor by which a reshard of operand `index` from `now` to `wanted` runs less often than the operation: a
/// reshard before the loops that do not define the operand serves all their iterations (AvailableShardings.h). If each
/// iteration reads only a part of the array, and the copy needs more memory than the array, the factor is smaller
/// (kWorthHolding).
double getRunsPerReshard(mlir::Operation *op, unsigned index, ArrayType now, ArrayType wanted,
                         const spmd::MeshShape &mesh);

/// Time of one operation on its devices, in seconds: a contraction by its multiplications, a sort by its comparisons,
/// any other operation by the bytes that it reads and writes, without rematerializable operands (Rematerialization.h).
class ComputeTime {
public:
  /// `rule`: the operation's sharding rule. All references have to outlive this object.
  ComputeTime(const spmd::MeshShape &mesh, const CostModel &model, ShardingRuleOpInterface op,
              const ShardingRule &rule);

  double of(const Strategy &option) const;
  /// A lower bound on `of` that needs the factors alone, not the types.
  double atLeast(const FactorAxes &axes) const;

private:
  double dotSeconds(const FactorAxes &axes) const;

  const spmd::MeshShape &mesh;
  const CostModel &model;
  mutable ShardingRuleOpInterface op;
  const ShardingRule &rule;
  ArrayType result;
  llvm::SmallVector<bool> isCheap; ///< By operand: whether it is rematerializable.
};

} // namespace spmdc
