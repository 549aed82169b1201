//===- MeshCoordinates.h - coordinates along the axes of a dimension -*- C++ -*-===//
//
// Helpers for the mesh axes that shard one dimension, and for loops over the coordinates along a few mesh axes only,
// because a mesh may have very many devices.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/sharding/DimMoves.h"

#include <algorithm>

namespace spmd {

/// Returns the axes that shard dimension `dim` of the array.
inline const std::vector<AxisRef> &axesOf(const ShardedShape &array, size_t dim) {
  static const std::vector<AxisRef> none;
  return dim < array.sharding.dims.size() ? array.sharding.dims[dim] : none;
}

/// Returns the indices of the mesh axes that shard dimension `dim` of either array.
inline std::vector<size_t> axesOfDim(const MeshShape &mesh, const ShardedShape &source, const ShardedShape &target,
                                     size_t dim) {
  std::vector<size_t> numbers;
  for (size_t i = 0; i < mesh.axes.size(); ++i) {
    auto isIt = [&](const AxisRef &axis) { return axis.name == mesh.axes[i].name; };
    const std::vector<AxisRef> &from = axesOf(source, dim), &to = axesOf(target, dim);
    if (std::any_of(from.begin(), from.end(), isIt) || std::any_of(to.begin(), to.end(), isIt))
      numbers.push_back(i);
  }
  return numbers;
}

/// Calls visit(coordinates) for each combination of coordinates along these mesh axes; the other coordinates are 0.
template <typename Visit>
void forEachCoordinates(const MeshShape &mesh, const std::vector<size_t> &axes, Visit &&visit) {
  std::vector<int64_t> coordinates(mesh.axes.size());
  while (true) {
    visit(coordinates);
    size_t next = axes.size();
    while (next > 0 && ++coordinates[axes[next - 1]] == mesh.axes[axes[next - 1]].size)
      coordinates[axes[--next]] = 0;
    if (next == 0)
      return;
  }
}

/// Returns the move of dimension `dim`; without moves it is the identity.
inline DimMove moveOf(const std::vector<DimMove> &moves, const ShardedShape &source, size_t dim) {
  return moves.empty() ? DimMove{0, 1, 0, source.shape[dim]} : moves[dim];
}

} // namespace spmd
