//===- MemoryUse.h - memory of a device while a program runs ----*- C++ -*-===//
#pragma once

#include "runtime/artifact/Plan.h"

namespace spmd {

/// Bytes on one device, padding included; the same on every device. Sums that overflow are INT64_MAX.
struct MemoryUse {
  int64_t argumentBytes = 0, resultBytes = 0;
  int64_t arenaBytes = 0;    ///< Intermediate values.
  int64_t constantBytes = 0; ///< The devices of a process share the constants.

  /// The sum of all: the figure of `inspect` and of `--budget memory`.
  int64_t peakBytes() const;
};

MemoryUse memoryUseOf(const Artifact &artifact);

} // namespace spmd
