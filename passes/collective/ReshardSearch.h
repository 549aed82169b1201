//===- ReshardSearch.h - the cheapest sequence of collectives, by Dijkstra's algorithm --*- C++ -*-===//
#pragma once

#include "passes/collective/ReshardPlan.h"
#include "passes/collective/ReshardSpace.h"

namespace spmdc {

/// The cheapest plan from the source to the target, over atoms of both. `spreads`: it may lead over axes that neither
/// side names, along which all devices have the same.
ReshardPlan searchReshard(const ReshardSpace &space, const CostModel &model, const spmd::Sharding &source,
                          const spmd::Sharding &target, bool spreads);

/// What all devices together send at least, whatever the plan.
double leastReshardBytes(const ReshardSpace &space, const ReshardState &start, const ReshardState &goal);

} // namespace spmdc
