//===- ClockOffset.h - the offset of two clocks -----------------*- C++ -*-===//
#pragma once

#include "runtime/support/Store.h"

#include <chrono>
#include <cstdint>
#include <functional>
#include <vector>

namespace spmd {

struct ClockOffset {
  int64_t nanoseconds = 0; ///< Process 0's clock minus this process's clock.
  int64_t uncertainty = 0; ///< The largest error of the offset: half the shortest round trip.
};

/// Measures the offset by round trips over the coordinator's connection, of which the shortest counts. Process 0 and
/// each of `others` (in this order, without 0) call it at the same time. `now` returns this process's clock in
/// nanoseconds.
ClockOffset measureClockOffset(Store &store, int32_t process, const std::vector<int32_t> &others,
                               const std::function<int64_t()> &now, std::chrono::milliseconds timeout);

} // namespace spmd
