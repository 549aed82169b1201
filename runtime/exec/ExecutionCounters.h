//===- ExecutionCounters.h - counters of all executors ----------*- C++ -*-===//
#pragma once

#include <atomic>
#include <cstdint>

namespace spmd {

/// Counters of all executors of a process. Device threads update them, once per launch and once per collective.
struct ExecutionCounters {
  std::atomic<uint64_t> launches{0};          ///< Finished launches.
  std::atomic<uint64_t> launchNanoseconds{0}; ///< Their time on the process's first device.
  std::atomic<uint64_t> wireBytes{0};         ///< Bytes that all devices of the process sent in collectives.
};

} // namespace spmd
