//===- ReshardSearch.h - Dijkstra's algorithm over shardings ----*- C++ -*-===//
#pragma once

#include "passes/reshard/ReshardPlan.h"
#include "passes/reshard/ReshardSpace.h"

namespace spmdc {

/// The cheapest plan from the source to the target, over atoms of both. A partial sum has `partialScale` times as many
/// bytes as an element of the array; a complete sum is rounded before it is sent further. `spreads`: the plan may shard
/// over axes that neither side names, along which all devices hold the same data.
ReshardPlan searchReshard(const ReshardSpace &space, const CostModel &model, double partialScale,
                          const spmd::Sharding &source, const spmd::Sharding &target, bool spreads);

/// A lower bound on the bytes that all devices together send, for any plan.
double leastReshardBytes(const ReshardSpace &space, double partialScale, const ReshardState &start,
                         const ReshardState &goal);

} // namespace spmdc
