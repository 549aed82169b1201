//===- ExchangedAxes.cpp - the axes along which an exchange sends ---------===//
//
// A device holds a product of ranges, one for each dimension, and no axis shards two dimensions of an array. A group of
// devices therefore holds a product, too. So each dimension alone decides which of its source axes the group needs; a
// dimension whose sharding does not change needs none.
//
//===----------------------------------------------------------------------===//

#include "runtime/sharding/ExchangedAxes.h"

#include "runtime/sharding/MeshCoordinates.h"
#include "runtime/sharding/ReshapedShards.h"

#include <algorithm>
#include <functional>
#include <tuple>

namespace spmd {
namespace {

using Coordinates = std::vector<int64_t>;

/// One dimension, or dimensions that are reshaped into others.
struct Part {
  std::vector<size_t> axes;                                ///< The mesh axes that shard source or target.
  std::vector<AxisRef> sourceAxes;                         ///< The axes that shard the source.
  int64_t work = 1;                                        ///< Cost of one comparison, relative to that of two ranges.
  std::function<int64_t(const Coordinates &)> countNeeded; ///< Source elements that the device at a place needs.
  /// Of these elements, those that the device at `holder` holds.
  std::function<int64_t(const Coordinates &holder, const Coordinates &place)> countHeld;
};

/// Sets the coordinate along an axis or a sub-axis.
void setCoordinate(const MeshShape &mesh, const AxisRef &axis, int64_t value, Coordinates &coordinates) {
  auto number = static_cast<size_t>(mesh.indexOf(axis.name));
  int64_t minor = mesh.axes[number].size / (axis.preSize * axis.sizeIn(mesh));
  coordinates[number] += (value - axis.coordinateIn(mesh, coordinates)) * minor;
}

int64_t countPlaces(const MeshShape &mesh, const std::vector<AxisRef> &axes) {
  int64_t count = 1;
  for (const AxisRef &axis : axes)
    count *= axis.sizeIn(mesh);
  return count;
}

/// Whether groups along these axes hold all source elements that their members need.
bool suffices(const MeshShape &mesh, const Part &part, const std::vector<AxisRef> &axes) {
  bool isEnough = true;
  int64_t members = countPlaces(mesh, axes);
  forEachCoordinates(mesh, part.axes, [&](const Coordinates &place) {
    int64_t left = isEnough ? part.countNeeded(place) : 0;
    Coordinates holder = place;
    // The shards of different members are disjoint, because the axes of the group shard the source.
    for (int64_t member = 0; member < members && left > 0; ++member) {
      int64_t rest = member;
      for (const AxisRef &axis : axes) {
        setCoordinate(mesh, axis, rest % axis.sizeIn(mesh), holder);
        rest /= axis.sizeIn(mesh);
      }
      left -= part.countHeld(holder, place);
    }
    isEnough &= left <= 0;
  });
  return isEnough;
}

std::vector<AxisRef> neededAxes(const MeshShape &mesh, const Part &part) {
  if (part.sourceAxes.empty() || suffices(mesh, part, {}))
    return {};
  constexpr int64_t mostComparisons = 1 << 20;
  int64_t places = part.work;
  for (size_t axis : part.axes)
    places *= mesh.axes[axis].size;
  std::vector<AxisRef> needed = part.sourceAxes;
  for (const AxisRef &axis : part.sourceAxes) {
    std::vector<AxisRef> fewer = needed;
    std::erase(fewer, axis);
    // The empty list was tried above.
    if (!fewer.empty() && places * countPlaces(mesh, fewer) <= mostComparisons && suffices(mesh, part, fewer))
      needed = std::move(fewer);
  }
  return needed;
}

Part makeDim(const MeshShape &mesh, const ShardedShape &source, const ShardedShape &target,
             const std::vector<DimMove> &moves, size_t d) {
  int64_t size = source.shape[d];
  auto count = [&mesh, &source, &target, &moves, d, size](const ShardRange &has, const Coordinates &place) {
    ShardRange needs = ownedRange(mesh, target.shape[d], axesOf(target, d), place);
    DimMove move = moveOf(moves, source, d).inWindowOf(needs.start, sizesOf(mesh, axesOf(target, d)));
    if (!move.wraps)
      return movedRange(move, has, needs).size;
    int64_t elements = 0;
    for (const DimMove &turn : unwrapped(move, size, needs))
      elements += movedRange(turn, has, needs).size;
    return elements;
  };
  return {axesOfDim(mesh, source, target, d), axesOf(source, d), 1,
          [count, size](const Coordinates &place) { return count({0, size}, place); },
          [count, &mesh, &source, &moves, d](const Coordinates &holder, const Coordinates &place) {
            return count(ownedSource(mesh, source, moves, d, holder), place);
          }};
}

Part makeReshaped(const MeshShape &mesh, const ShardedShape &source, const ShardedShape &target,
                  const ReshapedDims &dims) {
  Part part;
  auto addAxes = [&](const std::vector<AxisRef> &axes) {
    for (const AxisRef &axis : axes)
      if (int number = mesh.indexOf(axis.name); number >= 0)
        part.axes.push_back(static_cast<size_t>(number));
  };
  for (size_t d = dims.sourceBegin; d < dims.sourceEnd; ++d) {
    addAxes(axesOf(source, d));
    part.sourceAxes.insert(part.sourceAxes.end(), axesOf(source, d).begin(), axesOf(source, d).end());
  }
  for (size_t d = dims.targetBegin; d < dims.targetEnd; ++d)
    addAxes(axesOf(target, d));
  std::sort(part.axes.begin(), part.axes.end());
  part.axes.erase(std::unique(part.axes.begin(), part.axes.end()), part.axes.end());
  part.work = countRuns(mesh, source, dims.sourceBegin, dims.sourceEnd) +
              countRuns(mesh, target, dims.targetBegin, dims.targetEnd);
  auto needsOf = [&mesh, &target, dims](const Coordinates &place) {
    return listRuns(mesh, target, dims.targetBegin, dims.targetEnd, place);
  };
  part.countNeeded = [needsOf](const Coordinates &place) {
    int64_t elements = 0;
    for (const ShardRun &run : needsOf(place))
      elements += run.size;
    return elements;
  };
  part.countHeld = [needsOf, &mesh, &source, dims](const Coordinates &holder, const Coordinates &place) {
    int64_t elements = 0;
    forEachOverlap(listRuns(mesh, source, dims.sourceBegin, dims.sourceEnd, holder), needsOf(place),
                   [&](int64_t, int64_t, int64_t size) { elements += size; });
    return elements;
  };
  return part;
}

/// Returns the axes in mesh order, with adjacent sub-axes of one axis merged.
std::vector<AxisRef> inOrder(const MeshShape &mesh, std::vector<AxisRef> axes) {
  std::sort(axes.begin(), axes.end(), [&](const AxisRef &a, const AxisRef &b) {
    return std::tuple(mesh.indexOf(a.name), a.preSize) < std::tuple(mesh.indexOf(b.name), b.preSize);
  });
  std::vector<AxisRef> joined;
  for (AxisRef axis : axes) {
    axis.size = axis.sizeIn(mesh);
    if (!joined.empty() && joined.back().name == axis.name &&
        joined.back().preSize * joined.back().size == axis.preSize)
      joined.back().size *= axis.size;
    else
      joined.push_back(std::move(axis));
  }
  for (AxisRef &axis : joined)
    if (axis.preSize == 1 && axis.size == mesh.axes[static_cast<size_t>(mesh.indexOf(axis.name))].size)
      axis.size = 0; // The full axis.
  return joined;
}

} // namespace

std::vector<AxisRef> exchangedAxes(const MeshShape &mesh, const ShardedShape &source, const ShardedShape &target,
                                   const std::vector<DimMove> &moves) {
  std::vector<AxisRef> axes;
  auto add = [&](const Part &part) {
    std::vector<AxisRef> needed = neededAxes(mesh, part);
    axes.insert(axes.end(), needed.begin(), needed.end());
  };
  if (moves.empty() && source.shape != target.shape)
    for (const ReshapedDims &dims : groupReshapedDims(source.shape, target.shape))
      add(makeReshaped(mesh, source, target, dims));
  else
    for (size_t d = 0; d < source.shape.size(); ++d)
      add(makeDim(mesh, source, target, moves, d));
  const std::vector<AxisRef> &kept = target.sharding.unreduced;
  for (const AxisRef &axis : source.sharding.unreduced)
    if (std::find(kept.begin(), kept.end(), axis) == kept.end())
      axes.push_back(axis);
  return inOrder(mesh, std::move(axes));
}

} // namespace spmd
