//===- BoxBuilder.h - boxes with few loops and long runs --------*- C++ -*-===//
#pragma once

#include "runtime/collective/Movement.h"

namespace spmd {

/// Loops over elements, major to minor: their counts, and their strides in bytes in source and target.
struct BoxLoops {
  std::vector<int64_t> counts, sourceStrides, targetStrides;

  void add(int64_t count, int64_t sourceStride, int64_t targetStride) {
    counts.push_back(count);
    sourceStrides.push_back(sourceStride);
    targetStrides.push_back(targetStride);
  }
};

/// Returns the box of these elements, with the longest runs and the fewest loops.
Box makeBox(int64_t peer, int64_t elementBytes, int64_t sourceOffset, int64_t targetOffset, const BoxLoops &loops);

} // namespace spmd
