//===- Layout.h - the public shardings as the runtime's ---------*- C++ -*-===//
#pragma once

#include "runtime/api/include/spmd/spmd.h"
#include "runtime/sharding/Sharding.h"

#include <string>
#include <vector>

namespace spmd {

MeshShape meshShapeOf(const Mesh &mesh);

/// With one entry per dimension. Throws a usage error where the specification is longer than the array has dimensions.
Sharding shardingOf(const P &spec, size_t rank);
P specOf(const Sharding &sharding);

/// Whether every device holds the same part, in memory of the same shape, under both.
bool isSameLayout(const NamedSharding &a, const NamedSharding &b, const std::vector<int64_t> &shape);

/// An index as text: `0:4, 8:16`.
std::string indexText(const std::vector<ShardRange> &ranges);
Index indexOf(const std::vector<ShardRange> &ranges);

} // namespace spmd
