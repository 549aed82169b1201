//===- ReductionDiscount.h - how much of partial sums will be reduced -*- C++ -*-===//
#pragma once

#include "ir/interfaces/OpInterfaces.h"
#include "ir/spmd/SpmdTypes.h"
#include "passes/sharding/FactorAxes.h"

namespace spmdc {

/// What reducing partial sums of an operation's result will take, of reducing them whole and each time that it runs:
/// behind loops whose iterations only add to them, together with other partial sums that are added to them
/// (spmdc-sink-reductions), and no more than sums leave and is taken of them (spmdc-hoist-slices).
struct ReductionDiscount {
  double share = 1;
  double shareOfCut = 1;            ///< Where a dimension is cut along which a part is taken.
  llvm::SmallVector<int64_t> whole; ///< These dimensions.
  /// Sums that are added to this one. Those that are over the same axes share one reduction with it.
  llvm::SmallVector<ShardingRuleOpInterface> sharers;

  /// Of partial sums that lie so, where the sharers' are over these axes.
  double of(ArrayType type, llvm::ArrayRef<AxisRefs> sharersAxes) const;
};

/// The axes over which an operation's result is a partial sum if its operands stay as they lie.
AxisRefs findPartialAxes(const spmd::MeshShape &mesh, ShardingRuleOpInterface op, const ShardingRule &rule);

ReductionDiscount getReductionDiscount(ShardingRuleOpInterface op);
/// Of partial sums that a loop's result would be: what will be reduced of them behind loops around it.
ReductionDiscount getReductionDiscount(mlir::Operation *loop, unsigned result);

} // namespace spmdc
