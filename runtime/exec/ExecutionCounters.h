//===- ExecutionCounters.h - what executors count ---------------*- C++ -*-===//
#pragma once

#include <atomic>
#include <cstdint>

namespace spmd {

/// Of all executors of a process together. Written by device threads, once a launch and once a collective.
struct ExecutionCounters {
  std::atomic<uint64_t> launches{0};          ///< That have ended.
  std::atomic<uint64_t> launchNanoseconds{0}; ///< What they took on the process's first device.
  std::atomic<uint64_t> wireBytes{0};         ///< Sent in collectives by all devices of the process.
};

} // namespace spmd
