//===- ReductionShare.h - how much of partial sums will be reduced -*- C++ -*-===//
#pragma once

#include "ir/interfaces/OpInterfaces.h"

namespace spmdc {

/// What reducing partial sums of the operation's result will take, of reducing them whole and each time that it runs:
/// behind loops whose iterations only add to them, and no more than slices and sums leave (spmdc-defer-reductions).
double getReductionShare(ShardingRuleOpInterface op);

} // namespace spmdc
