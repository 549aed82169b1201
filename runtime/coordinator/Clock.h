//===- Clock.h - the injected clock of the state machines -------*- C++ -*-===//
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>

namespace spmd::coordinator {

using Clock = std::chrono::steady_clock;
using TimePoint = Clock::time_point;
using Milliseconds = std::chrono::milliseconds;

constexpr TimePoint never = TimePoint::max();
constexpr Milliseconds heartbeatInterval{500};
/// If a thread looks at the clock this late, its own process was stopped. Heartbeats that did not arrive in that time
/// do not count against other processes.
constexpr Milliseconds stallThreshold{1000};

/// Returns `start + span` without overflow. A negative span counts as zero, one of over ten years as `never`.
inline TimePoint after(TimePoint start, int64_t milliseconds) {
  if (milliseconds > int64_t(1000) * 3600 * 24 * 3650)
    return never;
  return start + Milliseconds(std::max<int64_t>(milliseconds, 0));
}

inline int64_t millisecondsBetween(TimePoint from, TimePoint to) {
  return std::chrono::duration_cast<Milliseconds>(to - from).count();
}

} // namespace spmd::coordinator
