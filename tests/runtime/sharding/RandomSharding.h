//===- RandomSharding.h - random shardings ----------------------*- C++ -*-===//
#pragma once

#include "runtime/sharding/Sharding.h"

#include <random>

namespace spmd::test {

/// The mesh of `randomSharding`: sizes that divide one another, and one that does not.
inline const MeshShape mesh{{{"a", 4}, {"b", 3}, {"c", 2}}};

/// Assigns some axes of the mesh to some dimensions, in an order other than the mesh's, sometimes with sub-axes.
inline Sharding randomSharding(std::mt19937_64 &random, size_t rank) {
  Sharding sharding;
  sharding.dims.resize(rank);
  std::vector<AxisRef> axes{{"a"}, {"b"}, {"c"}};
  if (random() % 2)
    axes = {{"c"}, {"a", 1, 2}, {"b"}, {"a", 2, 2}};
  for (const AxisRef &axis : axes)
    if (size_t dim = random() % (rank + 1); dim < rank)
      sharding.dims[dim].push_back(axis);
  return sharding;
}

/// Returns the axes without the one of that index.
inline std::vector<AxisRef> withoutAxis(std::vector<AxisRef> axes, size_t number) {
  axes.erase(axes.begin() + static_cast<std::ptrdiff_t>(number));
  return axes;
}

} // namespace spmd::test
