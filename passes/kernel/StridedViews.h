//===- StridedViews.h - arrays that need not be stored ----------*- C++ -*-===//
//
// Slices, transposes, broadcasts and reshapes choose elements of an array, and so do concatenations of equal slices at
// equal distances, as the patches of a convolution. If the position of an element is a sum of one term for each
// dimension, a product reads it where it is (OperandView.h).
//
//===----------------------------------------------------------------------===//
#pragma once

#include "ir/array/ArrayOps.h"
#include "runtime/support/OperandView.h"

#include <optional>
#include <vector>

namespace spmdc {

struct StridedView {
  mlir::Value array; ///< In memory.
  int64_t offset = 0;
  std::vector<spmd::ViewDigits> dims; ///< By dimension of the value.

  /// The view that `value` is of the array from which it takes its elements; of itself, if it is computed. Nullopt for
  /// empty arrays.
  static std::optional<StridedView> of(mlir::Value value);
  /// Whether the value is the array, perhaps with another shape.
  bool isWholeArray() const;
  bool operator==(const StridedView &) const = default;
};

} // namespace spmdc
