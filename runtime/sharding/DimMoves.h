//===- DimMoves.h - element maps of a dimension -----------------*- C++ -*-===//
//
// A `DimMove` says which source element each target element of an exchange is, along one dimension. The functions here
// derive from it what the devices of a mesh hold and need. They count devices by the axes that shard a dimension, never
// one by one: a mesh may have very many devices.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/sharding/Sharding.h"

#include <optional>

namespace spmd {

/// Maps a dimension of the target to a dimension of the source. Target element i is the source element
/// shift + i * stride, where begin <= i < end and that element exists; all other target elements are zero. A negative
/// stride reverses the order.
///
/// If `length` > 0, each device's shard of the target is a window of `length` elements, and windows may overlap. The
/// windows follow the shards of a dimension of `base` elements that is sharded as the target is; one of its elements
/// stands for `step` elements of the source. If shard w begins at element b, position j of window w is the source
/// element shift + b * step + j * stride. If shard w has n elements fewer than a full shard, the last n * step / stride
/// positions of its window, rounded down, are empty; the window of an empty shard is empty. The stride of windows is
/// positive.
///
/// A `dilation` d puts the source elements d positions apart: the formulas above give a position p, and the target
/// element is the source element p / d if d divides p, else zero. Dilation and stride are coprime.
struct DimMove {
  int64_t shift = 0, stride = 1;
  int64_t begin = 0, end = 0;
  int64_t length = 0, step = 0, base = 0;
  /// The source dimension is sharded in blocks of so many elements, which are never split.
  int64_t block = 1;
  /// The source is periodic: element indices are taken modulo its size. Such a move has a stride and a dilation of 1,
  /// and blocks of 1.
  bool wraps = false;
  int64_t dilation = 1;
  bool operator==(const DimMove &) const = default;

  /// Returns the window that contains target element i as a move without windows. `axisSizes` are the sizes of the axes
  /// that shard the target.
  DimMove inWindowOf(int64_t i, const std::vector<int64_t> &axisSizes) const;
};

/// Splits a periodic move without windows into moves that do not wrap, for one range of the target: one move for each
/// pass over the source's `size` elements. The target ranges of the moves are consecutive and disjoint.
std::vector<DimMove> unwrapped(const DimMove &move, int64_t size, const ShardRange &target);

/// Elements of a dimension, `step` apart.
struct MovedRange {
  int64_t start = 0, size = 0, step = 1;
  int64_t end() const { return size == 0 ? start : start + (size - 1) * step + 1; }
  bool operator==(const MovedRange &) const = default;
};

/// Returns the elements of `target` that come from the range `source`; they are `dilation` apart. If there are none,
/// the result is empty and begins where `target` does. The move has no windows and does not wrap.
MovedRange movedRange(const DimMove &move, const ShardRange &source, const ShardRange &target);

/// A sharded array.
struct ShardedShape {
  std::vector<int64_t> shape;
  Sharding sharding;
};

/// Returns the range of dimension `dim` of the source that the device at these mesh coordinates (one per axis) owns.
ShardRange ownedSource(const MeshShape &mesh, const ShardedShape &source, const std::vector<DimMove> &moves, size_t dim,
                       const std::vector<int64_t> &coordinates);

/// The padded local shape of the source, the same on every device.
std::vector<int64_t> localSourceShape(const MeshShape &mesh, const ShardedShape &source,
                                      const std::vector<DimMove> &moves);

/// Returns how many target elements, summed over all devices, a device needs and does not hold as a source element.
/// Without moves the target is the source in another sharding, or reshaped with its elements in the same order.
double missingElements(const MeshShape &mesh, const ShardedShape &source, const ShardedShape &target,
                       const std::vector<DimMove> &moves = {});

/// The position, in a device's own source shard (dilated if the move is), of the first source element that the device's
/// target shard needs: the least and the greatest over all devices.
struct LocalStart {
  int64_t least = 0, greatest = 0;
  bool isSame() const { return least == greatest; }
};

/// Returns one entry per dimension if every device holds all source elements that its target shard needs, else nullopt.
/// Other positions of the target shard, padding included, may be before or after the source shard. If the starts differ
/// among devices, the start of one device is shift + t * stride - s * dilation, where its target shard begins at t and
/// its source shard at s; with windows it is shift + b * step - s, where its shard of the base begins at b. Moves with
/// a negative stride, with wrapping or with dilated windows give nullopt.
std::optional<std::vector<LocalStart>> getLocalStarts(const MeshShape &mesh, const ShardedShape &source,
                                                      const ShardedShape &target, const std::vector<DimMove> &moves);

} // namespace spmd
