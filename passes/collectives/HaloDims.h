//===- HaloDims.h - contributions to other shards ---------------*- C++ -*-===//
//
// The terms of a sum are moved along a sharded dimension (shifted, with zeros between their elements). From its shards
// of the terms, a device computes contributions to a window of the sum: to its own shard, and to halos in the shards of
// others. This is the transpose of the windows of Windows.h:
//
//   the sum              ... | 4 5 6 7 | 8 9 ...        of three arrays, moved by -1, 0 and 1
//   device 1 has               3 4 5 6 7 8              3 and 8 are halos: device 1 sends them to devices 0 and 2
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/sharding/DimMoves.h"

#include "llvm/ADT/ArrayRef.h"

#include <optional>
#include <vector>

namespace spmdc {

/// A dimension of a sum in shards of `shard` elements. Positions count from the begin of a device's own shard of the
/// sum; its window is from -`low` up to `shard` + `high`.
struct HaloDim {
  /// A halo: the positions `begin` up to `end`, `step` apart, in the shard that comes `distance` shards after the
  /// device's own (before it, if negative).
  struct Halo {
    int64_t distance = 0, begin = 0, end = 0, step = 1;
    /// The range that is sent of the concatenated halos of all devices: from the first position to which any device
    /// contributes to one past the last.
    int64_t first = 0, last = 0;
    int64_t getLength() const { return (end - 1 - begin) / step + 1; }
  };

  int64_t shards = 0, shard = 0;
  int64_t low = 0, high = 0;
  int64_t first = 0, last = 0; ///< As Halo::first and Halo::last, for the concatenated windows of all devices.
  std::vector<Halo> halos;     ///< Sorted by distance.

  int64_t sourceSize = 0, sourceShard = 0; ///< The sizes of the terms and of their shards.
  int64_t dilation = 1;
  /// The least and the greatest position, over the devices, of the first element of a device's shard of a term with
  /// shift 0.
  int64_t leastStart = 0, greatestStart = 0;

  int64_t getLength() const { return low + shard + high; }
  /// The number of positions from the first to the last element of a device's shard of a term.
  int64_t getExtent() const { return (sourceShard - 1) * dilation + 1; }
  bool isSameEverywhere() const { return leastStart == greatestStart; }
};

/// The halos for moves of one dilation, without strides, from a dimension of `sourceSize` elements to one of `size`,
/// both sharded over axes of these sizes. None if the shards of the sum do not start at multiples of `shard`, if halos
/// have more than 8 distances, or if a dimension is empty.
std::optional<HaloDim> findHalos(int64_t sourceSize, int64_t size, const std::vector<int64_t> &axisSizes,
                                 llvm::ArrayRef<spmd::DimMove> moves);

} // namespace spmdc
