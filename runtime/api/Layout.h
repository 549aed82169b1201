//===- Layout.h - from public shardings to the runtime's --------*- C++ -*-===//
#pragma once

#include "runtime/api/include/spmd/spmd.h"
#include "runtime/sharding/Sharding.h"

#include <string>
#include <vector>

namespace spmd {

MeshShape meshShapeOf(const Mesh &mesh);

/// Returns a sharding with one entry for each dimension. Throws a usage error if the specification has more dimensions
/// than the array.
Sharding shardingOf(const P &spec, size_t rank);
P specOf(const Sharding &sharding);

/// Returns whether every device holds the same part, in memory of the same shape, under both shardings.
bool isSameLayout(const NamedSharding &a, const NamedSharding &b, const std::vector<int64_t> &shape);

/// Formats an index: `0:4, 8:16`.
std::string indexText(const std::vector<ShardRange> &ranges);
Index indexOf(const std::vector<ShardRange> &ranges);

} // namespace spmd
