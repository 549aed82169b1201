//===- HaloDims.h - what devices have of one another's pieces ---*- C++ -*-===//
//
// Devices hold pieces of arrays of which each is moved along a cut dimension (shifted, with zeros between its elements)
// to be added to the others. What a device has of the sum is a window: its own piece of the sum, and edges of the
// pieces of others. The picture is that of Windows.h, the other way round:
//
//   the sum              ... | 4 5 6 7 | 8 9 ...        of three arrays, moved by -1, 0 and 1
//   device 1 has               3 4 5 6 7 8              3 and 8 are edges: they go to devices 0 and 2, added up
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/sharding/DimMoves.h"

#include "llvm/ADT/ArrayRef.h"

#include <optional>
#include <vector>

namespace spmdc {

/// A dimension of a sum, cut into pieces of `piece` elements. Places are counted from where a device's own piece of the
/// sum begins; its window is from -low up to piece + high.
struct HaloDim {
  /// Places `begin` up to `end`, `step` apart, of the piece that lies `distance` pieces behind the device's own.
  struct Edge {
    int64_t distance = 0, begin = 0, end = 0, step = 1;
    /// What travels of the edges as they arrive, one behind the other: nothing before the first place for which anybody
    /// has something, and nothing behind the last.
    int64_t first = 0, last = 0;
    int64_t getLength() const { return (end - 1 - begin) / step + 1; }
  };

  int64_t pieces = 0, piece = 0;
  int64_t low = 0, high = 0;
  int64_t first = 0, last = 0; ///< The same of all windows, one behind the other.
  std::vector<Edge> edges;     ///< By distance.

  int64_t sourceSize = 0, sourcePiece = 0; ///< Of the arrays that are added.
  int64_t dilation = 1;
  /// Where the first element of a device's piece of an array would be if that were not shifted: from the least to the
  /// greatest place, over the devices.
  int64_t leastStart = 0, greatestStart = 0;

  int64_t getLength() const { return low + piece + high; }
  /// Places from the first to the last element of a device's piece of an array.
  int64_t getExtent() const { return (sourcePiece - 1) * dilation + 1; }
  bool isSameEverywhere() const { return leastStart == greatestStart; }
};

/// For moves of one dilation, without strides, of a dimension of `sourceSize` elements into one of `size`, both cut by
/// axes of these sizes. None where pieces of the sum do not follow one another at one distance, where a device would
/// have edges of many pieces, or where nothing is there.
std::optional<HaloDim> findEdges(int64_t sourceSize, int64_t size, const std::vector<int64_t> &axisSizes,
                                 llvm::ArrayRef<spmd::DimMove> moves);

} // namespace spmdc
