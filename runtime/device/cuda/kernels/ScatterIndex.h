//===- ScatterIndex.h - indices of a scatter --------------------*- C++ -*-===//
#pragma once

#include "runtime/device/cuda/kernels/Intrinsics.h"

namespace spmd::cuda {

/// Sizes of a scatter: result [outer, rows, inner], updates [outer, count, inner]. Indices are [count], or have the
/// shape of the updates if the scatter is along a dimension.
struct Sizes {
  int64_t outer, rows, count, inner;
};

/// Returns the index at `place`, or -1 if it is out of range.
SPMD_DEVICE int64_t readIndex(const void *indices, int64_t place, int64_t indexBytes, int64_t rows) {
  int64_t index =
      indexBytes == 8 ? static_cast<const int64_t *>(indices)[place] : static_cast<const int32_t *>(indices)[place];
  return index >= 0 && index < rows ? index : -1;
}

} // namespace spmd::cuda
