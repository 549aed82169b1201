//===- ReductionDiscount.h - the cost that sinking saves --------*- C++ -*-===//
#pragma once

#include "ir/interfaces/OpInterfaces.h"
#include "ir/spmd/SpmdTypes.h"
#include "passes/sharding/FactorAxes.h"

namespace spmdc {

/// A factor of the cost of reducing the partial sums of an operation's result: 0.25 means that a quarter of the cost
/// remains. 1 is the cost of reducing all of them directly after the operation. The factor is below 1 if the reduction
/// moves after loops whose iterations only add to the partial sums, if it is shared with other partial sums
/// (spmdc-sink-reductions), or if a later sum or slice leaves fewer elements (spmdc-sink-reductions,
/// spmdc-hoist-slices).
struct ReductionDiscount {
  double share = 1;                    ///< The factor if no dimension of `fullDims` is sharded.
  double shareIfSharded = 1;           ///< The factor if one of them is: then a slice cannot be hoisted.
  llvm::SmallVector<int64_t> fullDims; ///< The dimensions along which the slice or lookup needs the full size.
  /// Sums that are added to this one. Those that are over the same axes share one reduction with it.
  llvm::SmallVector<ShardingRuleOpInterface> sharers;

  /// The factor for partial sums of this type, if the sharers' partial sums are over these axes.
  double of(ArrayType type, llvm::ArrayRef<AxisRefs> sharersAxes) const;
};

/// The axes over which an operation's result is unreduced if its operands keep their shardings.
AxisRefs findPartialAxes(const spmd::MeshShape &mesh, ShardingRuleOpInterface op, const ShardingRule &rule);

/// Whether a strategy of the operation, which has this rule, may leave partial sums to reduce.
bool mayLeavePartialSums(ShardingRuleOpInterface op, const ShardingRule &rule);

/// The discount of the reduction of the operation's result; 1 if no strategy leaves partial sums. Follows a bounded
/// number of operations.
ReductionDiscount getReductionDiscount(ShardingRuleOpInterface op, const ShardingRule &rule);
/// The same for the result of a loop, if it is unreduced: the reduction moves after loops around this one.
ReductionDiscount getReductionDiscount(mlir::Operation *loop, unsigned result);

} // namespace spmdc
