//===- ComputeTime.h - how long devices compute -----------------*- C++ -*-===//
#pragma once

#include "passes/partition/OperationChoice.h"

namespace spmdc {

/// Whether the operation looks at no more of its operand than its result has.
inline bool readsPart(mlir::Operation *op) { return mlir::isa<SliceOp, DynamicSliceOp, TakeOp, TakeAlongOp>(op); }

/// Time of one operation on its devices, in seconds: of a contraction by its multiplications, of an order by its
/// comparisons, of anything else by the memory it touches, where nothing lies that is made of little (Makers.h).
class ComputeTime {
public:
  /// `rule`: the operation's; has to stay.
  ComputeTime(const spmd::MeshShape &mesh, const CostModel &model, ShardingRuleOpInterface op,
              const ShardingRule &rule);

  double of(const OperationChoice &candidate) const;
  /// What follows from the factors alone, without the types: no more than `of` says.
  double atLeast(const FactorAxes &axes) const;

private:
  double dotSeconds(const FactorAxes &axes) const;

  const spmd::MeshShape &mesh;
  const CostModel &model;
  mutable ShardingRuleOpInterface op;
  const ShardingRule &rule;
  ArrayType result;
  llvm::SmallVector<bool> isOfLittle; ///< The operands.
};

} // namespace spmdc
