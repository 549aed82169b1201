//===- DimMoves.h - arrays that are made of the elements of others -*- C++ -*-===//
//
// What an exchange does along each dimension, and what follows from that for the devices of a mesh. Devices are counted
// by the axes that matter to a dimension, never one by one: a mesh may have very many.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/sharding/Sharding.h"

#include <optional>

namespace spmd {

/// How a dimension of one array is made of a dimension of another: its element i is the other's element
/// shift + i * stride, where begin <= i < end and there is one; zero elsewhere. A negative stride goes backwards.
///
/// With a `length` each device's piece of the target is a window of so many elements, and windows may overlap. They
/// follow the pieces of a dimension of `base` elements that is cut as the target is, each of which stands for `step`
/// elements of the other: where piece w begins at element b, place j of window w is the other's element
/// shift + b * step + j * stride. The window of a piece that is short by n elements has nothing in its last
/// n * step / stride places, rounded down, and that of an empty piece nothing at all. Windows do not go backwards.
///
/// With a `dilation` the elements come to lie that far apart: the other's element is what is said above divided by it,
/// and where that leaves a remainder there is none. It has no common divisor with the stride.
struct DimMove {
  int64_t shift = 0, stride = 1;
  int64_t begin = 0, end = 0;
  int64_t length = 0, step = 0, base = 0;
  /// The other's dimension is cut in whole blocks of so many elements.
  int64_t block = 1;
  /// Behind the last element of the other comes its first again, and before the first the last: elements are counted
  /// modulo its size. Such a move has a stride and a dilation of 1, and no blocks.
  bool wraps = false;
  int64_t dilation = 1;
  bool operator==(const DimMove &) const = default;

  /// The move of the elements of the window that element i of the target is in, as if there were no others; the target
  /// is cut by axes of these sizes.
  DimMove inWindowOf(int64_t i, const std::vector<int64_t> &axisSizes) const;
};

/// A move without windows, for a range of the target, as moves that do not wrap: one for each time that this goes round
/// the source's `size` elements. What they give of the target follows one another and does not overlap.
std::vector<DimMove> unwrapped(const DimMove &move, int64_t size, const ShardRange &target);

/// Elements of a dimension, `step` apart.
struct MovedRange {
  int64_t start = 0, size = 0, step = 1;
  int64_t end() const { return size == 0 ? start : start + (size - 1) * step + 1; }
  bool operator==(const MovedRange &) const = default;
};

/// Which elements of the target, of those it owns, come from a range of the source: as far apart as the move's
/// dilation; where there are none, an empty range at the target's beginning. The move has no windows, and does not
/// wrap.
MovedRange movedRange(const DimMove &move, const ShardRange &source, const ShardRange &target);

/// A sharded array.
struct ShardedShape {
  std::vector<int64_t> shape;
  Sharding sharding;
};

/// What a place in the mesh (a coordinate for each axis) owns of a dimension of the source.
ShardRange ownedSource(const MeshShape &mesh, const ShardedShape &source, const std::vector<DimMove> &moves, size_t dim,
                       const std::vector<int64_t> &coordinates);

/// The padded local shape of the source, the same on every device.
std::vector<int64_t> localSourceShape(const MeshShape &mesh, const ShardedShape &source,
                                      const std::vector<DimMove> &moves);

/// How many elements of the target the devices together do not hold as elements of the source. Without moves the target
/// is the source under another sharding, or in another shape with its elements in the same order.
double missingElements(const MeshShape &mesh, const ShardedShape &source, const ShardedShape &target,
                       const std::vector<DimMove> &moves = {});

/// Where in its own piece of the source (dilated, if the move says so) devices find the first element that their piece
/// of the target has of the source: from the least to the greatest place along a dimension.
struct LocalStart {
  int64_t least = 0, greatest = 0;
  bool isSame() const { return least == greatest; }
};

/// For each dimension, if every device finds in its own piece all that its piece of the target has of the source. What
/// else the target's piece has, padding included, may be before the source's piece or behind it. Where places differ
/// among devices, that of one is shift + t * stride - s * dilation, if its piece of the target begins at t and that of
/// the source at s; in windows shift + b * step - s, if its piece of the base begins at b. No move that goes backwards
/// or round, and no dilated windows.
std::optional<std::vector<LocalStart>> getLocalStarts(const MeshShape &mesh, const ShardedShape &source,
                                                      const ShardedShape &target, const std::vector<DimMove> &moves);

} // namespace spmd
