//===- ReshardSearch.h - the cheapest sequence of collectives, by Dijkstra's algorithm --*- C++ -*-===//
#pragma once

#include "passes/reshard/ReshardPlan.h"
#include "passes/reshard/ReshardSpace.h"

namespace spmdc {

/// The cheapest plan from the source to the target, over atoms of both. A partial sum has `partialScale` times as many
/// bytes as an element of the array: one that is complete is rounded before it is sent on. `spreads`: the plan may lead
/// over axes that neither side names, along which all devices have the same.
ReshardPlan searchReshard(const ReshardSpace &space, const CostModel &model, double partialScale,
                          const spmd::Sharding &source, const spmd::Sharding &target, bool spreads);

/// What all devices together send at least, whatever the plan.
double leastReshardBytes(const ReshardSpace &space, double partialScale, const ReshardState &start,
                         const ReshardState &goal);

} // namespace spmdc
