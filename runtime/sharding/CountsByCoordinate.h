//===- CountsByCoordinate.h - counts of elements by mesh coordinates ---*- C++ -*-===//
#pragma once

#include "runtime/sharding/MeshCoordinates.h"

#include <functional>
#include <vector>

namespace spmd {

/// Numbers of elements of some dimensions, summed over devices: elements that a device needs, and those of them that it
/// holds.
struct Counts {
  double needed = 0, held = 0;
};

/// Counts of one part (a dimension or a group of reshaped dimensions): `places` has one entry for each combination of
/// coordinates along `axes`, the mesh axes that shard it; the last axis is the fastest.
struct CountsByCoordinate {
  std::vector<size_t> axes;
  std::vector<Counts> places;
};

/// Multiplies the counts of several parts for each device, and sums them over the devices along all of their axes.
Counts sumOfProducts(const MeshShape &mesh, const std::vector<CountsByCoordinate> &parts);

/// Returns how many elements, summed over all devices of the mesh, are needed and not held. `axesOfParts` are the mesh
/// axes of each part. `countOf` gets the indices of parts that share axes and returns their counts, summed over the
/// devices along these axes.
double countMissing(const MeshShape &mesh, const std::vector<std::vector<size_t>> &axesOfParts,
                    const std::function<Counts(const std::vector<size_t> &)> &countOf);

} // namespace spmd
