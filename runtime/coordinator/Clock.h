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
/// Who looks at the clock this late was itself stopped: what it did not hear meanwhile is not held against others.
constexpr Milliseconds stallThreshold{1000};

/// `start + span` without overflow; a negative span counts as zero, one of over ten years as never.
inline TimePoint after(TimePoint start, int64_t milliseconds) {
  if (milliseconds > int64_t(1000) * 3600 * 24 * 3650)
    return never;
  return start + Milliseconds(std::max<int64_t>(milliseconds, 0));
}

inline int64_t millisecondsBetween(TimePoint from, TimePoint to) {
  return std::chrono::duration_cast<Milliseconds>(to - from).count();
}

} // namespace spmd::coordinator
