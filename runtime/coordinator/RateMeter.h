//===- RateMeter.h - the recent rate of a growing count ---------*- C++ -*-===//
#pragma once

#include "runtime/coordinator/Clock.h"

#include <array>
#include <cstddef>

namespace spmd::coordinator {

/// Keeps the values of a count over some seconds, as heartbeats report them.
class RateMeter {
public:
  void add(double count, TimePoint now) {
    samples[next % samples.size()] = {now, count};
    ++next;
  }
  /// Returns the growth per second; 0 before there are two values. If no value has come for a while, the last growth is
  /// spread over that time.
  double rate(TimePoint now) const {
    if (next < 2)
      return 0;
    const Sample &oldest = samples[next < samples.size() ? 0 : next % samples.size()];
    const Sample &newest = samples[(next - 1) % samples.size()];
    double seconds = std::chrono::duration<double>(std::max(now, newest.at) - oldest.at).count();
    return seconds > 0 ? std::max(newest.count - oldest.count, 0.0) / seconds : 0;
  }

private:
  struct Sample {
    TimePoint at;
    double count = 0;
  };
  std::array<Sample, 10> samples = {}; ///< 5 s of heartbeats.
  size_t next = 0;
};

} // namespace spmd::coordinator
