//===- ComputeTime.h - how long devices compute -----------------*- C++ -*-===//
#pragma once

#include "passes/strategy/Strategy.h"

namespace spmdc {

/// How many times faster the iterations of a loop have to become for an array of which they read parts to be held as
/// more than a device's shard. Gathered in front of a loop, parts of b bytes take L + n b / r in place of n (L + b / r)
/// where each is gathered, or broadcast by its owner: 4 times less only where b < L r / 3, 17 KB by the default rates,
/// where iterations wait rather than send. So a device holds at most that for each latency that is saved: the steps of
/// a recurrence are gathered, the weights of layers (FSDP) are not.
inline constexpr double kWorthHolding = 4;

/// Whether memory comes before time in the operation's module (LowMemory.h).
bool savesMemory(mlir::Operation *op);

/// By how much bringing operand `index` of the operation from one sharding to another counts less than what the
/// operation does itself: such a form is made in front of the loops that the operand is not of, once for all their
/// iterations (AvailableShardings.h). But where each iteration looks at a part of the array alone, a form of which a
/// device holds more than of the array has to be worth its memory.
double getRunsPerReshard(mlir::Operation *op, unsigned index, ArrayType now, ArrayType wanted,
                         const spmd::MeshShape &mesh);

/// Time of one operation on its devices, in seconds: of a contraction by its multiplications, of an order by its
/// comparisons, of anything else by the memory it touches, where nothing lies that is made of little
/// (Rematerialization.h).
class ComputeTime {
public:
  /// `rule`: the operation's; has to stay.
  ComputeTime(const spmd::MeshShape &mesh, const CostModel &model, ShardingRuleOpInterface op,
              const ShardingRule &rule);

  double of(const Strategy &candidate) const;
  /// What follows from the factors alone, without the types: no more than `of` says.
  double atLeast(const FactorAxes &axes) const;

private:
  double dotSeconds(const FactorAxes &axes) const;

  const spmd::MeshShape &mesh;
  const CostModel &model;
  mutable ShardingRuleOpInterface op;
  const ShardingRule &rule;
  ArrayType result;
  llvm::SmallVector<bool> isCheap; ///< The operands.
};

} // namespace spmdc
