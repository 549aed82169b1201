//===- ReshardSearch.h - the cheapest sequence of collectives, by Dijkstra's algorithm --*- C++ -*-===//
#pragma once

#include "ir/spmd/SpmdOps.h"
#include "passes/collective/ReshardPlan.h"

namespace spmdc {

/// The cheapest plan from the source's sharding to the target's; both have one shape. `spreads`: it may lead over axes
/// that neither side names, along which all devices have the same.
ReshardPlan searchReshard(const spmd::MeshShape &mesh, const CostModel &model, ArrayType source, ArrayType target,
                          bool spreads);

/// What no plan sends less than, as CollectiveCost::linkBytes.
double leastReshardBytes(const spmd::MeshShape &mesh, const CostModel &model, ArrayType source, ArrayType target);

} // namespace spmdc
