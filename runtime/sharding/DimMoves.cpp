//===- DimMoves.cpp - element maps of a dimension -------------------------===//

#include "runtime/sharding/DimMoves.h"

#include "runtime/sharding/MeshCoordinates.h"

#include <algorithm>
#include <utility>

namespace spmd {
namespace {

int64_t floorDivide(int64_t a, int64_t b) { return a / b - (a % b != 0 && (a < 0) != (b < 0)); }
int64_t ceilDivide(int64_t a, int64_t b) { return -floorDivide(-a, b); }
int64_t moduloOf(int64_t a, int64_t b) { return a - floorDivide(a, b) * b; }

/// Returns the smallest i >= 0 for which shift + i * stride is a multiple of `divisor`. Stride and divisor are coprime.
int64_t firstMultiple(int64_t shift, int64_t stride, int64_t divisor) {
  // The inverse of the stride, by Euclid's algorithm.
  int64_t rest = divisor, next = moduloOf(stride, divisor), factor = 0, nextFactor = 1;
  while (next != 0) {
    int64_t quotient = rest / next;
    rest = std::exchange(next, rest - quotient * next);
    factor = std::exchange(nextFactor, factor - quotient * nextFactor);
  }
  auto product = static_cast<__int128>(moduloOf(-shift, divisor)) * moduloOf(factor, divisor);
  return static_cast<int64_t>(product % divisor);
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
  DimMove move = *this;
  move.shift = shift + piece.start * step - window * length * stride;
  move.length = move.step = move.base = 0;
  move.end = std::max(move.begin, std::min(end, window * length + places));
  return move;
}

std::vector<DimMove> unwrapped(const DimMove &move, int64_t size, const ShardRange &target) {
  if (!move.wraps)
    return {move};
  int64_t begin = std::max(move.begin, target.start), end = std::min(move.end, target.start + target.size);
  std::vector<DimMove> moves;
  if (begin >= end || size == 0)
    return moves;
  int64_t last = floorDivide(move.shift + (end - 1) * move.stride, size);
  for (int64_t turn = floorDivide(move.shift + begin * move.stride, size); turn <= last; ++turn) {
    moves.push_back(move);
    moves.back().shift -= turn * size;
    moves.back().wraps = false;
  }
  return moves;
}

MovedRange movedRange(const DimMove &move, const ShardRange &source, const ShardRange &target) {
  // `near` and `far` are the dilated positions of the first and the last element of the source.
  int64_t near = source.start * move.dilation - move.shift;
  int64_t far = (source.start + source.size - 1) * move.dilation - move.shift;
  if (move.stride < 0)
    std::swap(near, far);
  int64_t begin = std::max({ceilDivide(near, move.stride), move.begin, target.start});
  int64_t end = std::min({floorDivide(far, move.stride) + 1, move.end, target.start + target.size});
  if (move.dilation > 1)
    begin += moduloOf(firstMultiple(move.shift, move.stride, move.dilation) - begin, move.dilation);
  if (source.size == 0 || begin >= end)
    return {target.start, 0, move.dilation};
  return {begin, (end - begin - 1) / move.dilation + 1, move.dilation};
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

std::optional<std::vector<LocalStart>> getLocalStarts(const MeshShape &mesh, const ShardedShape &source,
                                                      const ShardedShape &target, const std::vector<DimMove> &moves) {
  std::vector<LocalStart> starts;
  for (size_t d = 0; d < source.shape.size(); ++d) {
    DimMove windows = moveOf(moves, source, d);
    std::vector<int64_t> sizes = sizesOf(mesh, axesOf(target, d));
    // In a short window, the padding at its end would look like a gap between two elements of a dilated window.
    bool hasGapsInWindows = windows.length > 0 && windows.dilation > 1;
    if (windows.stride < 1 || windows.wraps || hasGapsInWindows)
      return std::nullopt;
    std::optional<LocalStart> start;
    bool isThere = true;
    MovedRange all = movedRange(windows, {0, source.shape[d]}, {0, target.shape[d]});
    forEachCoordinates(mesh, axesOfDim(mesh, source, target, d), [&](const std::vector<int64_t> &coordinates) {
      ShardRange has = ownedSource(mesh, source, moves, d, coordinates);
      ShardRange needs = ownedRange(mesh, target.shape[d], axesOf(target, d), coordinates);
      DimMove move = windows.inWindowOf(needs.start, sizes);
      MovedRange moved = movedRange(move, {0, source.shape[d]}, needs);
      // A dilated source has gaps between its elements, and no device may look for an element there.
      bool isWithin = std::max(all.start, needs.start) < std::min(all.end(), needs.start + needs.size);
      if (moved.size == 0 && !(windows.dilation > 1 && isWithin))
        return;
      int64_t own = move.shift + needs.start * move.stride - has.start * move.dilation;
      isThere = isThere && movedRange(move, has, needs) == moved;
      if (!start)
        start = {own, own};
      start->least = std::min(start->least, own);
      start->greatest = std::max(start->greatest, own);
    });
    if (!isThere)
      return std::nullopt;
    starts.push_back(start.value_or(LocalStart()));
  }
  return starts;
}

} // namespace spmd
