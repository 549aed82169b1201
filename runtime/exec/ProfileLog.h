//===- ProfileLog.h - the events of all runs of a process -------*- C++ -*-===//
#pragma once

#include "runtime/exec/Executor.h"

#include <cstdint>
#include <mutex>
#include <utility>
#include <vector>

namespace spmd {

/// Thread-safe. Keeps a limited number of events and counts the others, so that a run of a week does not exhaust
/// memory.
class ProfileLog {
public:
  struct Run {
    uint64_t launch = 0;
    std::vector<ProfileEvent> events; ///< Events of one device; parents before their children.
  };

  explicit ProfileLog(size_t limit = 1'000'000) : limit(limit) {}

  void add(uint64_t launch, std::vector<ProfileEvent> events) {
    std::lock_guard lock(mutex);
    if (count + events.size() > limit) {
      dropped += events.size();
      return;
    }
    count += events.size();
    runs.push_back({launch, std::move(events)});
  }
  /// Returns all runs since the last call, and the total number of dropped events.
  std::pair<std::vector<Run>, size_t> take() {
    std::lock_guard lock(mutex);
    return {std::exchange(runs, {}), dropped};
  }

private:
  std::mutex mutex;
  size_t limit, count = 0, dropped = 0;
  std::vector<Run> runs;
};

} // namespace spmd
