//===- ExchangedAxes.h - which devices an exchange joins --------*- C++ -*-===//
#pragma once

#include "runtime/sharding/DimMoves.h"

#include <vector>

namespace spmd {

/// The axes of the least groups of devices in which each device finds all that its piece of the target has of the
/// source, in the order of the mesh: of an exchange, those along which some device sends to another. A halo along one
/// dimension of an array that is sharded over x, y and z joins the devices along one of the three:
///
///   f32[8@x, 8@y, 8@z] -> its elements shifted by one along dimension 1:   {y}
///
/// Parts of axes where a sharding names them. Without moves the target is the source under another sharding, or in
/// another shape with its elements in the same order. Over axes where the source is unreduced and the target is not
/// the devices are summed, so these are among them. An axis more than is needed is possible where more than a million
/// pairs of devices would have to be compared along a dimension (it cost 50 ms), never one less.
std::vector<AxisRef> exchangedAxes(const MeshShape &mesh, const ShardedShape &source, const ShardedShape &target,
                                   const std::vector<DimMove> &moves);

} // namespace spmd
