//===- ReshardPlan.h - the steps from one sharding to another ---*- C++ -*-===//
#pragma once

#include "passes/cost/CostModel.h"
#include "runtime/sharding/Sharding.h"

#include <vector>

namespace spmdc {

/// One step of a plan (a collective or a local operation), and the sharding after it.
struct ReshardStep {
  enum class Kind {
    AllGather,
    AllSlice,
    AllToAll,
    AllReduce,
    ReduceScatter,
    Exchange,
    KeepOnFirst,  ///< A reduced value becomes a partial sum: the first device along the axes keeps it, others have 0.
    PlaceInZeros, ///< A sharded dimension becomes a partial sum: each device has its shard, and zeros around it.
  };
  Kind kind = Kind::AllGather;
  std::vector<spmd::AxisRef> axes; ///< Major to minor.
  int64_t dim = -1;                ///< The gathered, sliced, scattered or placed dimension; the split of an all_to_all.
  int64_t concatDim = -1;          ///< The concatenated dimension of an all_to_all.
  spmd::Sharding after;
};

struct ReshardPlan {
  std::vector<ReshardStep> steps;
  CollectiveCost cost;
  int64_t explored = 1; ///< The number of shardings that were explored to find the plan.
};

} // namespace spmdc
