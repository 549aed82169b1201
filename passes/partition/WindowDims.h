//===- WindowDims.h - what devices look at of a dimension -------*- C++ -*-===//
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

/// A dimension of an array of which each device looks at a window, to make its piece of a result: elements `stride`
/// apart, and the windows of devices one after the other `step` apart.
struct WindowDim {
  /// Elements `begin` to `end - 1`; nothing where these do not ascend.
  struct Range {
    int64_t begin = 0, end = 0;
    bool isEmpty() const { return begin >= end; }
  };

  int64_t stride = 1;
  int64_t step = 0;          ///< 0 where the result is not cut.
  std::vector<Range> looked; ///< By piece of the result; somebody looks at something.

  int64_t getPieces() const { return static_cast<int64_t>(looked.size()); }

  /// The element that the first place of the first window stands for, be there one or not.
  int64_t getFirst() const;
  /// Places of a window.
  int64_t getLength() const;
  /// What comes into all windows, one behind the other, from the array: nothing before the first element that anybody
  /// looks at, and nothing behind the last.
  spmd::DimMove getMove() const;

  /// Whether `other` is of windows that follow one another in the same steps.
  bool canTake(const WindowDim &other) const { return looked.size() == other.looked.size() && step == other.step; }
  /// Lets devices look at that, too.
  void add(const WindowDim &other);
};

} // namespace spmdc
