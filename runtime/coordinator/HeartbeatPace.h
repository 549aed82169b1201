//===- HeartbeatPace.h - when the next heartbeat is due ---------*- C++ -*-===//
#pragma once

#include "runtime/coordinator/Clock.h"

namespace spmd::coordinator {

/// Decides when to send heartbeats: at a fixed interval, but after hurry() at once and then with gaps that double, so
/// that the coordinator also knows the position of a process that fails soon after it has begun to run.
class HeartbeatPace {
public:
  explicit HeartbeatPace(TimePoint due) : due(due) {}

  TimePoint getDue() const { return due; }
  /// The next heartbeat is due at once.
  void hurry(TimePoint now) {
    due = std::min(due, now);
    gap = shortestGap;
  }
  /// A heartbeat is sent now.
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
