//===- ProfileLog.h - the events of all runs of a process -------*- C++ -*-===//
#pragma once

#include "runtime/exec/Executor.h"

#include <cstdint>
#include <mutex>
#include <utility>
#include <vector>

namespace spmd {

/// Thread-safe. Holds so many events and counts the others: a run of a week does not end for lack of memory.
class ProfileLog {
public:
  struct Run {
    uint64_t launch = 0;
    std::vector<ProfileEvent> events; ///< Of one device; parents before their children.
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
  /// All that came since the last time, and how many were dropped in all.
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
