//===- Reduce.h - element-wise reduction of several buffers -----*- C++ -*-===//
//
// Reduces along the balanced binary tree over group positions, split at the largest power of two below the size, for
// every element type and reduction. bf16 and f16 are widened to f32, reduced there and rounded once. Sums and products
// of integers wrap; maximum and minimum return NaN if either operand is NaN, and order -0 below +0. On bool, sum, max
// and `or` are or; product, min and `and` are and.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/artifact/Plan.h"

#include <cstdint>
#include <memory>
#include <vector>

namespace spmd {

/// A subtree that was reduced elsewhere: elements of accumulatedBytes each. Null data: not available.
struct Subtree {
  const void *data = nullptr;
  int64_t size = 0; ///< Number of leaves.
};

class TreeReducer {
public:
  /// Memory for inner nodes. Reducers that never run at once may share it.
  using Scratch = std::vector<char>;

  /// Throws spmd::Error for reductions that are undefined for the type (`and` of floats, keys). `shared`: memory to use
  /// instead of its own; the constructor and setThreads enlarge it.
  TreeReducer(DType dtype, ReductionKind kind, int64_t groupSize, std::shared_ptr<Scratch> shared = nullptr);

  /// Computes target[i] = tree over p of sources[p][i]. `target` may be one of the sources, and must not overlap one
  /// otherwise. Allocates nothing; `thread` is below the number given to setThreads and selects its scratch memory.
  void reduce(const void *const *sources, void *target, int64_t count, int thread = 0);
  void setThreads(int threads);

  /// Like reduce, but `subtrees[p]`, if available, replaces the leaves [p, p + size), which must be a subtree; their
  /// sources are not read.
  void reduceWith(const void *const *sources, const Subtree *subtrees, void *target, int64_t count, int thread = 0);
  /// Reduces the subtree of the leaves [first, first + size), size > 1, without rounding: elements of accumulatedBytes.
  void reduceSubtree(const void *const *sources, int64_t first, int64_t size, void *target, int64_t count,
                     int thread = 0);
  /// Bytes of an element of an inner node: 4 for bf16 and f16, which are rounded once at the end.
  int64_t accumulatedBytes() const;

private:
  using Combine = void (*)(const void *a, const void *b, void *result, int64_t count);
  /// The inputs of a reduction; offsets into them are in elements.
  struct Inputs {
    const void *const *sources = nullptr;
    const Subtree *subtrees = nullptr;
  };
  const void *evaluate(const Inputs &inputs, int64_t offset, int64_t first, int64_t size, int level, int64_t count,
                       void *target, char *scratch) const;
  char *scratchOf(int thread);

  DType dtype;
  bool isHalf;
  int64_t groupSize;
  int levels = 0;
  Combine combine = nullptr;
  int64_t scratchPerThread = 0;
  std::shared_ptr<Scratch> scratch;
};

/// `sum`, `max`, ...
const char *reductionName(ReductionKind kind);

} // namespace spmd
