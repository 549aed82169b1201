//===- ShardingDrawing.h - the box drawing of a sharding --------*- C++ -*-===//
//
// The box drawing of jax.debug.visualize_array_sharding, without colours.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/sharding/Sharding.h"

#include <string>
#include <vector>

namespace spmd {

/// `devices[p]` is the global id of the device at mesh position p. `platform` is the prefix of the ids: `CPU`. Lines
/// end in a newline. Empty blocks (a later shard may be empty) are listed below the boxes. Throws spmd::Error for
/// arrays of other than one or two dimensions.
std::string drawSharding(const MeshShape &mesh, const std::vector<int64_t> &devices, const std::vector<int64_t> &shape,
                         const Sharding &sharding, const std::string &platform);

} // namespace spmd
