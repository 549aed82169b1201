//===- RunTiming.h - how long calls took ------------------------*- C++ -*-===//
#pragma once

#include "runtime/api/Job.h"

#include <string>
#include <vector>

namespace spmd {

/// Of all calls but the first, which warms caches up; of the first where there is no other. Without any (a loop whose
/// steps were all done before) `runs` is 0, and the times of calls are null in the JSON.
struct RunTimes {
  double medianUs = 0, minUs = 0, maxUs = 0;
  size_t runs = 0;
  double compileMs = 0, firstResultMs = 0;
  /// For people.
  std::string text() const;
  /// For scripts: one object with the keys of `--time-json`.
  std::string json() const;
};

/// Of each call, the time of the slowest process counts. Every process calls it, with as many durations.
RunTimes slowestTimes(Job &job, double firstResultMs, std::vector<double> durationsUs);

} // namespace spmd
