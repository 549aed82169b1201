//===- PlaceCounts.h - what devices need and hold, by place -----*- C++ -*-===//
#pragma once

#include "runtime/sharding/MeshPlaces.h"

#include <functional>
#include <vector>

namespace spmd {

/// Numbers of elements, added up over the places along axes: what the devices there need of dimensions, and hold of
/// that.
struct Counts {
  double needed = 0, held = 0;
};

/// Of dimensions by themselves, for each place along the axes of the mesh that matter to them (the last fastest).
struct PlaceCounts {
  std::vector<size_t> axes;
  std::vector<Counts> places;
};

/// Of such dimensions together, added up over the places along all of their axes.
Counts sumOfProducts(const MeshShape &mesh, const std::vector<PlaceCounts> &parts);

/// What devices need and do not hold of arrays whose parts depend on these axes: `countOf` is given the numbers of
/// parts that share axes, and says what the places along these need and hold of them.
double countMissing(const MeshShape &mesh, const std::vector<std::vector<size_t>> &axesOfParts,
                    const std::function<Counts(const std::vector<size_t> &)> &countOf);

} // namespace spmd
