//===- ExchangedAxes.h - the axes along which an exchange sends -*- C++ -*-===//
#pragma once

#include "runtime/sharding/DimMoves.h"

#include <vector>

namespace spmd {

/// Returns the axes, in mesh order, of the smallest groups of devices within which each device finds all source
/// elements of its target shard: the axes along which an exchange sends. A halo exchange along one dimension of an
/// array that is sharded over x, y and z has one axis:
///
///   f32[8@x, 8@y, 8@z] -> its elements shifted by one along dimension 1:   {y}
///
/// The result has sub-axes where a sharding has them. Without moves the target is the source in another sharding, or
/// reshaped with its elements in the same order. Axes over which the source is unreduced and the target is not are
/// included, because the exchange sums over them. The result may have an unneeded axis if more than a million pairs of
/// devices would have to be compared along a dimension (that took 50 ms); it never lacks one.
std::vector<AxisRef> exchangedAxes(const MeshShape &mesh, const ShardedShape &source, const ShardedShape &target,
                                   const std::vector<DimMove> &moves);

} // namespace spmd
