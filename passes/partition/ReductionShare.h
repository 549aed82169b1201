//===- ReductionShare.h - how much of partial sums will be reduced -*- C++ -*-===//
#pragma once

#include "ir/interfaces/OpInterfaces.h"
#include "ir/spmd/SpmdTypes.h"

namespace spmdc {

/// What reducing partial sums of an operation's result will take, of reducing them whole and each time that it runs:
/// behind loops whose iterations only add to them (spmdc-defer-reductions), and no more than sums leave and is taken of
/// them (spmdc-narrow-reductions).
struct ReductionShare {
  double share = 1;
  double shareOfCut = 1;            ///< Where a dimension is cut along which a part is taken.
  llvm::SmallVector<int64_t> whole; ///< These dimensions.

  /// Of partial sums that lie so.
  double of(ArrayType type) const;
  bool operator==(const ReductionShare &) const = default;
};

ReductionShare getReductionShare(ShardingRuleOpInterface op);

} // namespace spmdc
