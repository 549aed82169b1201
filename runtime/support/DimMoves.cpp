//===- DimMoves.cpp - arrays that are made of the elements of others ------===//

#include "runtime/support/DimMoves.h"

#include <algorithm>
#include <numeric>

namespace spmd {
namespace {

int64_t floorDivide(int64_t a, int64_t b) { return a / b - (a % b != 0 && (a < 0) != (b < 0)); }
int64_t ceilDivide(int64_t a, int64_t b) { return -floorDivide(-a, b); }

const std::vector<AxisRef> &axesOf(const ShardedShape &array, size_t dim) {
  static const std::vector<AxisRef> none;
  return dim < array.sharding.dims.size() ? array.sharding.dims[dim] : none;
}

/// The numbers of the mesh's axes that cut a dimension of either array.
std::vector<size_t> axesOfDim(const MeshShape &mesh, const ShardedShape &source, const ShardedShape &target,
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

/// What the devices at each place along a dimension's axes (the last axis fastest) need of it, and hold of that.
struct DimCounts {
  std::vector<size_t> axes;
  std::vector<double> needed, held;
};

DimMove moveOf(const std::vector<DimMove> &moves, const ShardedShape &source, size_t dim) {
  return moves.empty() ? DimMove{0, 1, 0, source.shape[dim]} : moves[dim];
}

} // namespace

DimMove DimMove::inWindowOf(int64_t i, const std::vector<int64_t> &axisSizes) const {
  if (length == 0)
    return *this;
  int64_t window = i / length, left = window;
  std::vector<int64_t> coordinates(axisSizes.size());
  for (size_t k = axisSizes.size(); k-- > 0; left /= axisSizes[k])
    coordinates[k] = left % axisSizes[k];
  ShardRange piece = shardRange(base, axisSizes, coordinates);
  int64_t missing = localDimSize(base, axisSizes) - piece.size;
  int64_t places = piece.size == 0 ? 0 : std::max<int64_t>(0, length - missing * step / stride);
  DimMove move{shift + piece.start * step - window * length * stride, stride, begin, end, 0, 0, 0, block};
  move.end = std::max(move.begin, std::min(end, window * length + places));
  return move;
}

ShardRange movedRange(const DimMove &move, const ShardRange &source, const ShardRange &target) {
  // shift + i * stride between the first and the last element of the source.
  int64_t near = source.start - move.shift, far = source.start + source.size - 1 - move.shift;
  if (move.stride < 0)
    std::swap(near, far);
  int64_t begin = std::max({ceilDivide(near, move.stride), move.begin, target.start});
  int64_t end = std::min({floorDivide(far, move.stride) + 1, move.end, target.start + target.size});
  return {begin, source.size > 0 ? std::max<int64_t>(0, end - begin) : 0};
}

ShardRange ownedSource(const MeshShape &mesh, const ShardedShape &source, const std::vector<DimMove> &moves, size_t dim,
                       const std::vector<int64_t> &coordinates) {
  int64_t block = moveOf(moves, source, dim).block;
  ShardRange blocks = ownedRange(mesh, source.shape[dim] / block, axesOf(source, dim), coordinates);
  return {blocks.start * block, blocks.size * block};
}

std::vector<int64_t> localSourceShape(const MeshShape &mesh, const ShardedShape &source,
                                      const std::vector<DimMove> &moves) {
  std::vector<int64_t> shape;
  for (size_t d = 0; d < source.shape.size(); ++d) {
    int64_t block = moveOf(moves, source, d).block;
    shape.push_back(block * localDimSize(source.shape[d] / block, sizesOf(mesh, axesOf(source, d))));
  }
  return shape;
}

double missingElements(const MeshShape &mesh, const ShardedShape &source, const ShardedShape &target,
                       const std::vector<DimMove> &moves) {
  size_t rank = source.shape.size();
  std::vector<DimCounts> counts(rank);
  for (size_t d = 0; d < rank; ++d) {
    DimMove windows = moveOf(moves, source, d);
    std::vector<int64_t> sizes = sizesOf(mesh, axesOf(target, d));
    counts[d].axes = axesOfDim(mesh, source, target, d);
    forEachPlace(mesh, counts[d].axes, [&](const std::vector<int64_t> &coordinates) {
      ShardRange has = ownedSource(mesh, source, moves, d, coordinates);
      ShardRange needs = ownedRange(mesh, target.shape[d], axesOf(target, d), coordinates);
      DimMove move = windows.inWindowOf(needs.start, sizes);
      counts[d].needed.push_back(static_cast<double>(movedRange(move, {0, source.shape[d]}, needs).size));
      counts[d].held.push_back(static_cast<double>(movedRange(move, has, needs).size));
    });
  }
  // Dimensions that share no axis are independent: sums over devices of products are products of sums. Each group of
  // dimensions that do share axes is counted over the places along these.
  std::vector<size_t> groupOfDim(rank);
  std::iota(groupOfDim.begin(), groupOfDim.end(), 0);
  for (size_t d = 0; d < rank; ++d)
    for (size_t e = 0; e < d; ++e) {
      bool share = std::any_of(counts[d].axes.begin(), counts[d].axes.end(), [&](size_t axis) {
        return std::find(counts[e].axes.begin(), counts[e].axes.end(), axis) != counts[e].axes.end();
      });
      if (share)
        for (size_t f = 0, old = groupOfDim[e]; f <= d; ++f)
          if (groupOfDim[f] == old)
            groupOfDim[f] = groupOfDim[d];
    }
  double needed = 1, held = 1;
  std::vector<bool> isCounted(mesh.axes.size());
  for (size_t group = 0; group < rank; ++group) {
    std::vector<const DimCounts *> dims;
    std::vector<size_t> places;
    for (size_t d = 0; d < rank; ++d)
      if (groupOfDim[d] == group) {
        dims.push_back(&counts[d]);
        for (size_t axis : counts[d].axes)
          if (!isCounted[axis]) {
            isCounted[axis] = true;
            places.push_back(axis);
          }
      }
    if (dims.empty())
      continue;
    // How far a step along each axis leads in the counts of each dimension.
    std::vector<std::vector<size_t>> strides(dims.size(), std::vector<size_t>(mesh.axes.size()));
    for (size_t d = 0; d < dims.size(); ++d)
      for (size_t i = dims[d]->axes.size(), stride = 1; i-- > 0;) {
        strides[d][dims[d]->axes[i]] = stride;
        stride *= static_cast<size_t>(mesh.axes[dims[d]->axes[i]].size);
      }
    double neededHere = 0, heldHere = 0;
    forEachPlace(mesh, places, [&](const std::vector<int64_t> &coordinates) {
      double need = 1, common = 1;
      for (size_t d = 0; d < dims.size(); ++d) {
        size_t at = 0;
        for (size_t axis : dims[d]->axes)
          at += strides[d][axis] * static_cast<size_t>(coordinates[axis]);
        need *= dims[d]->needed[at];
        common *= dims[d]->held[at];
      }
      neededHere += need;
      heldHere += common;
    });
    needed *= neededHere;
    held *= heldHere;
  }
  double replicas = 1;
  for (size_t i = 0; i < mesh.axes.size(); ++i)
    if (!isCounted[i])
      replicas *= static_cast<double>(mesh.axes[i].size);
  return replicas * (needed - held);
}

std::optional<std::vector<int64_t>> getLocalStarts(const MeshShape &mesh, const ShardedShape &source,
                                                   const ShardedShape &target, const std::vector<DimMove> &moves) {
  std::vector<int64_t> sourcePiece = localSourceShape(mesh, source, moves);
  std::vector<int64_t> targetPiece = localShape(mesh, target.shape, target.sharding);
  std::vector<int64_t> starts;
  for (size_t d = 0; d < source.shape.size(); ++d) {
    DimMove windows = moveOf(moves, source, d);
    std::vector<int64_t> sizes = sizesOf(mesh, axesOf(target, d));
    if (windows.stride < 1)
      return std::nullopt;
    std::optional<int64_t> start;
    bool isSame = true;
    forEachPlace(mesh, axesOfDim(mesh, source, target, d), [&](const std::vector<int64_t> &coordinates) {
      ShardRange has = ownedSource(mesh, source, moves, d, coordinates);
      ShardRange needs = ownedRange(mesh, target.shape[d], axesOf(target, d), coordinates);
      DimMove move = windows.inWindowOf(needs.start, sizes);
      ShardRange moved = movedRange(move, {0, source.shape[d]}, needs);
      if (moved.size == 0)
        return;
      int64_t own = move.shift + needs.start * move.stride - has.start;
      isSame = isSame && own >= 0 && own + (targetPiece[d] - 1) * move.stride < sourcePiece[d] &&
               movedRange(move, has, needs) == moved && (!start || *start == own);
      start = own;
    });
    bool fits = start || (targetPiece[d] - 1) * windows.stride < sourcePiece[d]; // Where nothing comes from the source.
    if (!isSame || !fits)
      return std::nullopt;
    starts.push_back(start.value_or(0));
  }
  return starts;
}

} // namespace spmd
