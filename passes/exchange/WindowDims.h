//===- WindowDims.h - what devices look at of a dimension -------*- C++ -*-===//
#pragma once

#include "ir/array/ArrayOps.h"

#include <vector>

namespace spmdc {

/// How a dimension lies: pieces of at most `piece` elements each.
struct CutDim {
  int64_t size = 0, piece = 0;
  std::vector<spmd::ShardRange> pieces;
};

/// What each piece has of a dimension that is cut by axes of these sizes.
std::vector<spmd::ShardRange> listPieces(int64_t size, const std::vector<int64_t> &axisSizes);

CutDim getCutDim(const spmd::MeshShape &mesh, ArrayType type, int64_t dim);

/// A dimension of an array of which each device looks at a window, to make its piece of a result: elements `stride`
/// apart. Windows begin where the pieces of the result do, each element of which stands for `step` of the array.
struct WindowDim {
  /// Elements `begin` to `end - 1`; nothing where these do not ascend.
  struct Range {
    int64_t begin = 0, end = 0;
    bool isEmpty() const { return begin >= end; }
  };

  int64_t stride = 1;
  int64_t step = 0; ///< 0 where the result is not cut.
  CutDim result;
  bool wraps = false;        ///< Elements are counted on behind the last one: from the first again.
  std::vector<Range> looked; ///< By piece of the result; somebody looks at something.

  int64_t getPieces() const { return static_cast<int64_t>(looked.size()); }
  /// How far the window of a piece is from the first one's.
  int64_t getOffset(int64_t piece) const { return result.pieces[piece].start * step; }

  /// The element that the first place of the first window stands for, be there one or not.
  int64_t getFirst() const;
  /// Places of a window.
  int64_t getLength() const;
  /// What comes into all windows, one behind the other, from the array: nothing before the first element that anybody
  /// looks at, and nothing behind the last.
  spmd::DimMove getMove() const;

  /// Whether `other` is of windows that follow one another at the same distances.
  bool canTake(const WindowDim &other) const;
  /// Whether each piece for which somebody looks at something begins where that of another result does.
  bool canFollowPiecesOf(const WindowDim &other) const;
  /// Lets devices look at that, too.
  void add(const WindowDim &other);
};

} // namespace spmdc
