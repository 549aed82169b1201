//===- BlockSizes.h - how reductions and scans are cut ----------*- C++ -*-===//
#pragma once

#include "ir/array/ArrayOps.h"

namespace spmdc {

/// On a GPU: up to this many elements a second kernel costs more than it saves.
inline constexpr int64_t kMinGpuElements = 1 << 18;
/// Contiguous rows, each of which has a block: two for each of an H100's multiprocessors are enough.
inline constexpr int64_t kEnoughGpuRows = 264;

/// The size of blocks of about `block` elements (at most) that a dimension of `size` is cut into: a divisor of `size`
/// where one is close by, which saves a rest. 0: the dimension has less than two blocks.
inline int64_t fitBlock(int64_t size, int64_t block) {
  if (block * 2 > size)
    return 0;
  for (int64_t divisor = block; divisor * 2 > block; --divisor)
    if (size % divisor == 0)
      return divisor;
  return block;
}

/// Cuts a large scan along few rows, for a GPU: reduce, then scan; the first element of each block takes what comes
/// before it (Merrill and Garland, "Single-pass Parallel Prefix Scan with Decoupled Look-back", 2016, section 2.3). All
/// else stays in order, so the bits depend on the shape alone. False: the scan is left as it is.
bool splitScan(CumulativeOp op);

} // namespace spmdc
