//===- Reduce.h - element-wise reduction of several buffers -----*- C++ -*-===//
//
// The balanced binary tree over group positions, split at the largest power of two below the size, for every element
// type and reduction. bf16 and f16 are widened to f32, reduced there and rounded once. Sums and products of integers
// wrap; maximum and minimum give NaN if either side is NaN, and order -0 below +0. On bool, sum, max and `or` are or;
// product, min and `and` are and.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/artifact/Plan.h"

#include <cstdint>
#include <vector>

namespace spmd {

class TreeReducer {
public:
  /// Throws spmd::Error for reductions that have no meaning for the type (`and` of floats, keys).
  TreeReducer(DType dtype, ReductionKind kind, int64_t groupSize);

  /// target[i] = tree over p of sources[p][i]. `target` may be one of the sources, and must not overlap one otherwise.
  /// Allocates nothing; `thread` selects the scratch of a thread below the number given to setThreads.
  void reduce(const void *const *sources, void *target, int64_t count, int thread = 0);
  void setThreads(int threads);

private:
  using Combine = void (*)(const void *a, const void *b, void *result, int64_t count);
  const void *evaluate(const void *const *sources, int64_t byteOffset, int64_t first, int64_t size, int level,
                       int64_t count, void *target, char *scratch) const;

  DType dtype;
  bool isHalf;
  int64_t groupSize;
  int levels = 0;
  Combine combine = nullptr;
  int64_t scratchPerThread = 0;
  std::vector<char> scratch;
};

/// `sum`, `max`, ...
const char *reductionName(ReductionKind kind);

} // namespace spmd
