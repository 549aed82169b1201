//===- ScatterIndex.h - where updates go ------------------------*- C++ -*-===//
#pragma once

#include "runtime/device/cuda/kernels/Intrinsics.h"

namespace spmd::cuda {

/// Of a scatter: result [outer, rows, inner], updates [outer, count, inner]. Indices are [count], or as the updates
/// where the scatter is along a dimension.
struct Sizes {
  int64_t outer, rows, count, inner;
};

/// The index at `place`, or -1 where it is outside.
SPMD_DEVICE int64_t readIndex(const void *indices, int64_t place, int64_t indexBytes, int64_t rows) {
  int64_t index =
      indexBytes == 8 ? static_cast<const int64_t *>(indices)[place] : static_cast<const int32_t *>(indices)[place];
  return index >= 0 && index < rows ? index : -1;
}

} // namespace spmd::cuda
