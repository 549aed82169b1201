//===- MemoryUse.h - what a device holds while a program runs ---*- C++ -*-===//
#pragma once

#include "runtime/artifact/Plan.h"

namespace spmd {

/// Bytes of one device, padding included; the same on every device. What no number holds is INT64_MAX.
struct MemoryUse {
  int64_t argumentBytes = 0, resultBytes = 0;
  int64_t arenaBytes = 0;    ///< Of what is computed on the way.
  int64_t constantBytes = 0; ///< Devices of a process share them.

  /// All of it at once: the figure of `inspect` and of `--budget memory`.
  int64_t peakBytes() const;
};

MemoryUse memoryUseOf(const Artifact &artifact);

} // namespace spmd
