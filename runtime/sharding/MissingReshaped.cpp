//===- MissingReshaped.cpp - elements to receive for a reshaped array -----===//

#include "runtime/sharding/MissingElements.h"
#include "runtime/sharding/ReshapedShards.h"

namespace spmd {
namespace {

/// Calls visit(size, axes) for each dimension of both shapes.
template <typename Visit>
void forEachDim(const ShardedShape &source, const ShardedShape &target, const ReshapedDims &dims, Visit &&visit) {
  for (size_t d = dims.sourceBegin; d < dims.sourceEnd; ++d)
    visit(source.shape[d], axesOf(source, d));
  for (size_t d = dims.targetBegin; d < dims.targetEnd; ++d)
    visit(target.shape[d], axesOf(target, d));
}

/// Returns the indices of the mesh axes that shard any of the dimensions.
std::vector<size_t> axesOfDims(const MeshShape &mesh, const ShardedShape &source, const ShardedShape &target,
                               const ReshapedDims &dims) {
  std::vector<bool> isThere(mesh.axes.size());
  forEachDim(source, target, dims, [&](int64_t, const std::vector<AxisRef> &axes) {
    for (const AxisRef &axis : axes)
      if (int index = mesh.indexOf(axis.name); index >= 0)
        isThere[index] = true;
  });
  std::vector<size_t> numbers;
  for (size_t i = 0; i < isThere.size(); ++i)
    if (isThere[i])
      numbers.push_back(i);
  return numbers;
}

CountsByCoordinate countPlaces(const MeshShape &mesh, const ShardedShape &source, const ShardedShape &target,
                               const ReshapedDims &dims, const std::vector<size_t> &axes) {
  CountsByCoordinate counts{axes, {}};
  forEachCoordinates(mesh, axes, [&](const std::vector<int64_t> &coordinates) {
    std::vector<ShardRun> has = listRuns(mesh, source, dims.sourceBegin, dims.sourceEnd, coordinates);
    std::vector<ShardRun> needs = listRuns(mesh, target, dims.targetBegin, dims.targetEnd, coordinates);
    Counts &here = counts.places.emplace_back();
    for (const ShardRun &run : needs)
      here.needed += static_cast<double>(run.size);
    forEachOverlap(has, needs, [&](int64_t, int64_t, int64_t size) { here.held += static_cast<double>(size); });
  });
  return counts;
}

} // namespace

double MissingElements::ofReshaped(const ShardedShape &source, const ShardedShape &target) {
  std::vector<ReshapedDims> groups = groupReshapedDims(source.shape, target.shape);
  std::vector<std::vector<size_t>> axes;
  for (const ReshapedDims &dims : groups)
    axes.push_back(axesOfDims(mesh, source, target, dims));
  return countMissing(mesh, axes, [&](const std::vector<size_t> &members) {
    std::vector<int64_t> key;
    for (size_t i : members) {
      // Begins with -1, so that it equals no key of moved dimensions: those begin with a size.
      key.insert(key.end(), {-1, static_cast<int64_t>(groups[i].sourceEnd - groups[i].sourceBegin)});
      forEachDim(source, target, groups[i], [&](int64_t size, const std::vector<AxisRef> &shardingAxes) {
        key.insert(key.end(), {size, static_cast<int64_t>(shardingAxes.size())});
        for (const AxisRef &axis : shardingAxes)
          key.insert(key.end(), {mesh.indexOf(axis.name), axis.preSize, axis.size});
      });
    }
    return lookUp(std::move(key), [&] {
      std::vector<CountsByCoordinate> counts;
      for (size_t i : members)
        counts.push_back(countPlaces(mesh, source, target, groups[i], axes[i]));
      return sumOfProducts(mesh, counts);
    });
  });
}

} // namespace spmd
