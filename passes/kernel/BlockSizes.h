//===- BlockSizes.h - block sizes of reductions and scans -------*- C++ -*-===//
#pragma once

#include "ir/array/ArrayOps.h"
#include "passes/kernel/GpuLimits.h"

#include <optional>

namespace spmdc {

/// On a GPU: for at most this many elements, a second kernel costs more than it saves.
inline constexpr int64_t kMinGpuElements = 1 << 18;
/// On a GPU: for at least this many contiguous rows, one thread block for each row occupies the machine: an H100 has
/// 132 multiprocessors, and two rows for each suffice.
inline constexpr int64_t kEnoughGpuRows = 264;

/// Returns the size of the blocks that a dimension of `size` is split into: at most about `block`. Prefers a divisor of
/// `size` if one is close, so that no remainder is left. Returns 0 if the dimension has fewer than two blocks.
inline int64_t fitBlock(int64_t size, int64_t block) {
  if (block * 2 > size)
    return 0;
  for (int64_t divisor = block; divisor * 2 > block; --divisor)
    if (size % divisor == 0)
      return divisor;
  return block;
}

/// The widest accumulator of a continued scan, of which a block passes on its total in one word of memory.
inline constexpr unsigned kMaxContinuedBits = 32;

/// Rewrites a large scan along few rows for a GPU, in blocks (DecomposeScans.cpp). The blocks of a contiguous row are a
/// continued scan. Other blocks are reduced first, then scanned; the scan of each one begins with the combination of
/// all elements before it (Merrill and Garland, "Single-pass Parallel Prefix Scan with Decoupled Look-back", 2016,
/// sections 2.3 and 4). The bits depend on the shape alone. Returns false if the scan is left unchanged.
bool splitScan(CumulativeOp op);

/// Splits a large reduction to few elements into reductions of blocks, and a reduction of their results. The blocks
/// depend on the shape and, on a GPU, on its limits alone. Returns false if the reduction is left unchanged. `gpu`: the
/// target is a GPU of these limits.
bool splitReduction(ReduceOp op, const std::optional<GpuLimits> &gpu);

} // namespace spmdc
