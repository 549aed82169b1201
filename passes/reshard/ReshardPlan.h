//===- ReshardPlan.h - the steps from one sharding to another --*- C++ -*-===//
#pragma once

#include "passes/cost/CostModel.h"
#include "runtime/sharding/Sharding.h"

#include <vector>

namespace spmdc {

/// One collective of a plan, or what devices do by themselves, and the sharding after it.
struct ReshardStep {
  enum class Kind {
    AllGather,
    AllSlice,
    AllToAll,
    AllReduce,
    ReduceScatter,
    Exchange,
    KeepOnFirst,  ///< Whole values become partial sums: the first device along the axes has them, others have zeros.
    PlaceInZeros, ///< A cut dimension becomes a partial sum: each device has its piece, and zeros around it.
  };
  Kind kind = Kind::AllGather;
  std::vector<spmd::AxisRef> axes; ///< Major to minor.
  int64_t dim = -1;                ///< Gathered, sliced, scattered or placed; the split one of an all_to_all.
  int64_t concatDim = -1;          ///< all_to_all only.
  spmd::Sharding after;
};

struct ReshardPlan {
  std::vector<ReshardStep> steps;
  CollectiveCost cost;
  int64_t explored = 1; ///< Shardings that were looked at to find it.
};

} // namespace spmdc
