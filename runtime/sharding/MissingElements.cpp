//===- MissingElements.cpp - elements that devices receive ----------------===//

#include "runtime/sharding/MissingElements.h"

#include "runtime/sharding/CountsByCoordinate.h"

#include <algorithm>
#include <functional>
#include <numeric>
#include <optional>

namespace spmd {
namespace {

/// Counts without visiting each device, for dimensions that share axes, if in each dimension the shards of one side are
/// unions of shards of the other. With one dimension the shards may be uneven; with several, all must have one size.
/// Returns nullopt for other shardings.
std::optional<Counts> countNested(const MeshShape &mesh, const ShardedShape &source, const ShardedShape &target,
                                  const std::vector<DimMove> &moves, const std::vector<size_t> &dims) {
  auto countShards = [&](const std::vector<AxisRef> &axes) {
    std::vector<int64_t> sizes = sizesOf(mesh, axes);
    return std::accumulate(sizes.begin(), sizes.end(), int64_t{1}, std::multiplies<>());
  };
  double elements = 1, wantedShards = 1, most = 1;
  std::vector<bool> isCounted(mesh.axes.size());
  for (size_t d : dims) {
    const std::vector<AxisRef> &from = axesOf(source, d), &to = axesOf(target, d);
    auto common = static_cast<std::ptrdiff_t>(std::min(from.size(), to.size()));
    int64_t wanted = countShards(to), finest = std::max(wanted, countShards(from)), size = source.shape[d];
    if (target.shape[d] != size || (!moves.empty() && moves[d] != DimMove{0, 1, 0, size}) ||
        !std::equal(from.begin(), from.begin() + common, to.begin()) || (dims.size() > 1 && size % finest != 0))
      return std::nullopt;
    elements *= static_cast<double>(size);
    wantedShards *= static_cast<double>(wanted);
    most *= static_cast<double>(finest);
    for (size_t axis : axesOfDim(mesh, source, target, d))
      isCounted[axis] = true;
  }
  for (size_t i = 0; i < mesh.axes.size(); ++i)
    if (isCounted[i])
      elements *= static_cast<double>(mesh.axes[i].size);
  return Counts{elements / wantedShards, elements / most};
}

/// One dimension of an array: returns the range of it that the device at given mesh coordinates owns.
class ShardedDim {
public:
  ShardedDim(const MeshShape &mesh, int64_t size, const std::vector<AxisRef> &axes)
      : size(size), sizes(sizesOf(mesh, axes)), positions(axes.size()) {
    for (size_t i = 0; i < axes.size(); ++i)
      if (int index = mesh.indexOf(axes[i].name); index >= 0)
        digits.push_back({i, static_cast<size_t>(index), mesh.axes[index].size / (axes[i].preSize * sizes[i])});
  }

  const std::vector<int64_t> &getSizes() const { return sizes; }

  ShardRange at(const std::vector<int64_t> &coordinates) {
    for (const Digit &digit : digits)
      positions[digit.position] = coordinates[digit.axis] / digit.minor % sizes[digit.position];
    return shardRange(size, sizes, positions);
  }

private:
  struct Digit {
    size_t position; ///< Index of the axis among those that shard the dimension.
    size_t axis;     ///< Index of the mesh axis that it is, or is a part of.
    int64_t minor;   ///< Product of the sub-axes of that mesh axis that are minor to it.
  };
  int64_t size;
  std::vector<int64_t> sizes, positions;
  std::vector<Digit> digits;
};

/// Counts for dimensions that share axes, by visiting each combination of coordinates along these axes.
Counts countPlaces(const MeshShape &mesh, const ShardedShape &source, const ShardedShape &target,
                   const std::vector<DimMove> &moves, const std::vector<size_t> &dims) {
  std::vector<CountsByCoordinate> parts;
  for (size_t d : dims) {
    CountsByCoordinate &dim = parts.emplace_back(axesOfDim(mesh, source, target, d));
    const DimMove windows = moveOf(moves, source, d);
    ShardedDim blocks(mesh, source.shape[d] / windows.block, axesOf(source, d));
    ShardedDim wanted(mesh, target.shape[d], axesOf(target, d));
    forEachCoordinates(mesh, dim.axes, [&](const std::vector<int64_t> &coordinates) {
      ShardRange ofBlocks = blocks.at(coordinates), needs = wanted.at(coordinates);
      ShardRange has{ofBlocks.start * windows.block, ofBlocks.size * windows.block};
      Counts &here = dim.places.emplace_back();
      auto count = [&](const DimMove &move) {
        here.needed += static_cast<double>(movedRange(move, {0, source.shape[d]}, needs).size);
        here.held += static_cast<double>(movedRange(move, has, needs).size);
      };
      DimMove move = windows.inWindowOf(needs.start, wanted.getSizes());
      if (!move.wraps)
        return count(move);
      for (const DimMove &turn : unwrapped(move, source.shape[d], needs))
        count(turn);
    });
  }
  return sumOfProducts(mesh, parts);
}

/// Returns a key of all inputs on which the result of countPlaces depends.
std::vector<int64_t> keyOf(const MeshShape &mesh, const ShardedShape &source, const ShardedShape &target,
                           const std::vector<DimMove> &moves, const std::vector<size_t> &dims) {
  std::vector<int64_t> key;
  auto addAxes = [&](const std::vector<AxisRef> &axes) {
    key.push_back(static_cast<int64_t>(axes.size()));
    for (const AxisRef &axis : axes)
      key.insert(key.end(), {mesh.indexOf(axis.name), axis.preSize, axis.size});
  };
  for (size_t d : dims) {
    const DimMove move = moveOf(moves, source, d);
    key.insert(key.end(), {source.shape[d], target.shape[d], move.shift, move.stride, move.begin, move.end, move.length,
                           move.step, move.base, move.block, move.wraps, move.dilation});
    addAxes(axesOf(source, d));
    addAxes(axesOf(target, d));
  }
  return key;
}

} // namespace

double MissingElements::of(const ShardedShape &source, const ShardedShape &target, const std::vector<DimMove> &moves) {
  if (moves.empty() && source.shape != target.shape)
    return ofReshaped(source, target);
  std::vector<std::vector<size_t>> axes;
  for (size_t d = 0; d < source.shape.size(); ++d)
    axes.push_back(axesOfDim(mesh, source, target, d));
  return countMissing(mesh, axes, [&](const std::vector<size_t> &dims) {
    std::optional<Counts> counts = countNested(mesh, source, target, moves, dims);
    return counts ? *counts : lookUp(keyOf(mesh, source, target, moves, dims), [&] {
      return countPlaces(mesh, source, target, moves, dims);
    });
  });
}

Counts MissingElements::lookUp(std::vector<int64_t> key, const std::function<Counts()> &count) {
  auto [entry, isNew] = known.try_emplace(std::move(key));
  if (isNew)
    entry->second = count();
  return entry->second;
}

double missingElements(const MeshShape &mesh, const ShardedShape &source, const ShardedShape &target,
                       const std::vector<DimMove> &moves) {
  return MissingElements(mesh).of(source, target, moves);
}

} // namespace spmd
