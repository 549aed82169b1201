//===- WindowDims.h - what devices look at of a cut dimension ---*- C++ -*-===//
#pragma once

#include "ir/array/ArrayOps.h"

#include <optional>
#include <vector>

namespace spmdc {

/// How a dimension lies: `pieces` of `piece` elements each, the last ones short.
struct CutDim {
  int64_t size = 0, pieces = 1, piece = 0;

  /// The elements of a piece that are no padding.
  int64_t getCount(int64_t index) const { return std::clamp<int64_t>(size - index * piece, 0, piece); }
};

/// Nothing where a piece is not behind the one before it, as over several axes that do not divide the dimension.
std::optional<CutDim> getCutDim(const spmd::MeshShape &mesh, ArrayType type, int64_t dim);

/// A dimension of an array of which each device looks at a window: a piece of its own, and elements before and behind.
struct WindowDim {
  /// Elements `begin` to `end - 1`; nothing where these do not ascend.
  struct Range {
    int64_t begin = 0, end = 0;
    bool isEmpty() const { return begin >= end; }
  };

  bool isCut = false;
  int64_t piece = 0;         ///< Elements of a piece; 0 where the dimension is not cut.
  int64_t start = 0;         ///< Where the first piece begins.
  std::vector<Range> looked; ///< By piece; a dimension that is not cut is looked at as one.

  int64_t getPieces() const { return static_cast<int64_t>(looked.size()); }

  /// How many elements before a piece any device looks at, and how many behind.
  int64_t getLow() const;
  int64_t getHigh() const;
  bool hasEdges() const { return getLow() > 0 || getHigh() > 0; }
  /// Whether anybody looks before the first piece or behind the last one.
  bool looksBeyond() const;

  /// The pieces whose devices look at the element that is this far before the piece (1 is the nearest), or behind it.
  Range getPiecesLookingBefore(int64_t distance) const;
  Range getPiecesLookingBehind(int64_t distance) const;

  /// The starts for which no device has edges before its piece, or none behind, and the one that there is.
  std::vector<int64_t> listStarts() const;

  /// From the first to behind the last element that anybody looks at.
  Range getExtent() const;

  /// The same in pieces that have their edges, and so many elements with those.
  Range getExtentInPieces(int64_t length) const;

  /// What is looked at here or there: of pieces of the same size.
  void add(const WindowDim &other);
};

} // namespace spmdc
