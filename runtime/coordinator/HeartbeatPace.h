//===- HeartbeatPace.h - when the next heartbeat is due ---------*- C++ -*-===//
#pragma once

#include "runtime/coordinator/Clock.h"

namespace spmd::coordinator {

/// Heartbeats come at one interval, but more often after hurry(), with gaps that double: so that of a process which has
/// just begun to run, too, it is known about where it was when it is gone.
class HeartbeatPace {
public:
  explicit HeartbeatPace(TimePoint due) : due(due) {}

  TimePoint getDue() const { return due; }
  /// The next one is sent at once.
  void hurry(TimePoint now) {
    due = std::min(due, now);
    gap = shortestGap;
  }
  /// One is sent now.
  void sent(TimePoint now) {
    due = now + gap;
    gap = std::min(2 * gap, heartbeatInterval);
  }

private:
  static constexpr Milliseconds shortestGap{4};

  TimePoint due;
  Milliseconds gap = heartbeatInterval;
};

} // namespace spmd::coordinator
