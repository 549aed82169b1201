//===- MissingElements.cpp - what devices need and do not hold ------------===//

#include "runtime/support/MissingElements.h"

#include "runtime/support/MeshPlaces.h"

#include <algorithm>
#include <functional>
#include <numeric>
#include <optional>

namespace spmd {
namespace {

/// Numbers of elements, added up over the places along axes: what the devices there need of dimensions, and hold of
/// that.
struct Counts {
  double needed = 0, held = 0;
};

/// Of dimensions that share axes, where in each one side's pieces are pieces of the other's, without a look at each
/// place: of one dimension pieces add up to the whole, of several they must be of one size.
std::optional<Counts> countNested(const MeshShape &mesh, const ShardedShape &source, const ShardedShape &target,
                                  const std::vector<DimMove> &moves, const std::vector<size_t> &dims) {
  auto piecesOf = [&](const std::vector<AxisRef> &axes) {
    std::vector<int64_t> sizes = sizesOf(mesh, axes);
    return std::accumulate(sizes.begin(), sizes.end(), int64_t{1}, std::multiplies<>());
  };
  double elements = 1, pieces = 1, most = 1;
  std::vector<bool> isCounted(mesh.axes.size());
  for (size_t d : dims) {
    const std::vector<AxisRef> &from = axesOf(source, d), &to = axesOf(target, d);
    auto common = static_cast<std::ptrdiff_t>(std::min(from.size(), to.size()));
    int64_t wanted = piecesOf(to), finest = std::max(wanted, piecesOf(from)), size = source.shape[d];
    if (target.shape[d] != size || (!moves.empty() && moves[d] != DimMove{0, 1, 0, size}) ||
        !std::equal(from.begin(), from.begin() + common, to.begin()) || (dims.size() > 1 && size % finest != 0))
      return std::nullopt;
    elements *= static_cast<double>(size);
    pieces *= static_cast<double>(wanted);
    most *= static_cast<double>(finest);
    for (size_t axis : axesOfDim(mesh, source, target, d))
      isCounted[axis] = true;
  }
  for (size_t i = 0; i < mesh.axes.size(); ++i)
    if (isCounted[i])
      elements *= static_cast<double>(mesh.axes[i].size);
  return Counts{elements / pieces, elements / most};
}

/// One dimension of an array, for the piece that each place in the mesh owns of it.
class CutDim {
public:
  CutDim(const MeshShape &mesh, int64_t size, const std::vector<AxisRef> &axes)
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
    size_t position; ///< Among the axes that cut the dimension,
    size_t axis;     ///< and of which of the mesh it is a part,
    int64_t minor;   ///< of which so many pieces are minor to it.
  };
  int64_t size;
  std::vector<int64_t> sizes, positions;
  std::vector<Digit> digits;
};

/// Of dimensions that share axes, by a look at each place along all of them.
Counts countPlaces(const MeshShape &mesh, const ShardedShape &source, const ShardedShape &target,
                   const std::vector<DimMove> &moves, const std::vector<size_t> &dims) {
  // Of each dimension by itself first, along its own axes (the last fastest).
  struct OfDim {
    std::vector<Counts> places;
    std::vector<size_t> strides; ///< How far a step along each axis of the mesh leads in `places`.
  };
  std::vector<OfDim> counts;
  std::vector<size_t> allAxes;
  for (size_t d : dims) {
    std::vector<size_t> axes = axesOfDim(mesh, source, target, d);
    OfDim dim{{}, std::vector<size_t>(mesh.axes.size())};
    const DimMove windows = moveOf(moves, source, d);
    CutDim blocks(mesh, source.shape[d] / windows.block, axesOf(source, d));
    CutDim wanted(mesh, target.shape[d], axesOf(target, d));
    forEachPlace(mesh, axes, [&](const std::vector<int64_t> &coordinates) {
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
    size_t stride = 1;
    for (size_t i = axes.size(); i-- > 0; stride *= static_cast<size_t>(mesh.axes[axes[i]].size)) {
      dim.strides[axes[i]] = stride;
      if (std::find(allAxes.begin(), allAxes.end(), axes[i]) == allAxes.end())
        allAxes.push_back(axes[i]);
    }
    counts.push_back(std::move(dim));
  }
  Counts sum;
  forEachPlace(mesh, allAxes, [&](const std::vector<int64_t> &coordinates) {
    Counts here{1, 1};
    for (const OfDim &dim : counts) {
      size_t at = 0;
      for (size_t axis : allAxes)
        at += dim.strides[axis] * static_cast<size_t>(coordinates[axis]);
      here.needed *= dim.places[at].needed;
      here.held *= dim.places[at].held;
    }
    sum.needed += here.needed;
    sum.held += here.held;
  });
  return sum;
}

/// All that countPlaces looks at.
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

/// All dimensions, in groups of those that share axes, on either side, with others of their group.
std::vector<std::vector<size_t>> dimsThatShareAxes(const MeshShape &mesh, const ShardedShape &source,
                                                   const ShardedShape &target) {
  size_t rank = source.shape.size();
  std::vector<size_t> groupOfDim(rank);
  std::iota(groupOfDim.begin(), groupOfDim.end(), 0);
  std::vector<std::vector<size_t>> axes;
  for (size_t d = 0; d < rank; ++d) {
    axes.push_back(axesOfDim(mesh, source, target, d));
    for (size_t e = 0; e < d; ++e) {
      bool share = std::find_first_of(axes[d].begin(), axes[d].end(), axes[e].begin(), axes[e].end()) != axes[d].end();
      size_t old = groupOfDim[e];
      if (share)
        std::replace(groupOfDim.begin(), groupOfDim.end(), old, groupOfDim[d]);
    }
  }
  std::vector<std::vector<size_t>> groups;
  for (size_t group = 0; group < rank; ++group) {
    std::vector<size_t> dims;
    for (size_t d = 0; d < rank; ++d)
      if (groupOfDim[d] == group)
        dims.push_back(d);
    if (!dims.empty())
      groups.push_back(dims);
  }
  return groups;
}

} // namespace

double MissingElements::of(const ShardedShape &source, const ShardedShape &target, const std::vector<DimMove> &moves) {
  // Dimensions that share no axis are independent: sums over devices of products are products of sums. Each group of
  // dimensions that do share axes is counted over the places along these.
  double needed = 1, held = 1;
  std::vector<bool> isCounted(mesh.axes.size());
  for (const std::vector<size_t> &dims : dimsThatShareAxes(mesh, source, target)) {
    std::optional<Counts> counts = countNested(mesh, source, target, moves, dims);
    if (!counts) {
      auto [entry, isNew] = known.try_emplace(keyOf(mesh, source, target, moves, dims));
      if (isNew) {
        counts = countPlaces(mesh, source, target, moves, dims);
        entry->second = {counts->needed, counts->held};
      }
      counts = {entry->second.first, entry->second.second};
    }
    needed *= counts->needed;
    held *= counts->held;
    for (size_t d : dims)
      for (size_t axis : axesOfDim(mesh, source, target, d))
        isCounted[axis] = true;
  }
  double replicas = 1;
  for (size_t i = 0; i < mesh.axes.size(); ++i)
    if (!isCounted[i])
      replicas *= static_cast<double>(mesh.axes[i].size);
  return replicas * (needed - held);
}

double missingElements(const MeshShape &mesh, const ShardedShape &source, const ShardedShape &target,
                       const std::vector<DimMove> &moves) {
  return MissingElements(mesh).of(source, target, moves);
}

} // namespace spmd
