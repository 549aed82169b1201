//===- MeshPlaces.h - places along the axes that cut a dimension -*- C++ -*-===//
//
// Devices are counted by the axes that matter to a dimension, never one by one.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/sharding/DimMoves.h"

#include <algorithm>

namespace spmd {

/// That cut a dimension of the array.
inline const std::vector<AxisRef> &axesOf(const ShardedShape &array, size_t dim) {
  static const std::vector<AxisRef> none;
  return dim < array.sharding.dims.size() ? array.sharding.dims[dim] : none;
}

/// The numbers of the mesh's axes that cut a dimension of either array.
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

/// Calls visit for each place along these axes, with 0 as the coordinate of the others.
template <typename Visit> void forEachPlace(const MeshShape &mesh, const std::vector<size_t> &axes, Visit &&visit) {
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

/// Of a dimension; without moves everything stays where it is.
inline DimMove moveOf(const std::vector<DimMove> &moves, const ShardedShape &source, size_t dim) {
  return moves.empty() ? DimMove{0, 1, 0, source.shape[dim]} : moves[dim];
}

} // namespace spmd
