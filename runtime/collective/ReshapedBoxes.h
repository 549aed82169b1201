//===- ReshapedBoxes.h - boxes between shards of two shapes -----*- C++ -*-===//
#pragma once

#include "runtime/collective/Movement.h"

namespace spmd {

/// Returns the boxes that device `from` of the mesh holds of the reshaped shard that device `to` needs.
std::vector<Box> listReshapedBoxes(const MeshShape &mesh, const CollectiveDesc &desc, int64_t from, int64_t to);

} // namespace spmd
