//===- CallTimes.h - durations of calls -------------------------*- C++ -*-===//
#pragma once

#include "runtime/api/Job.h"

#include <cstdint>
#include <string>
#include <vector>

namespace spmd {

/// Returns the steady clock, in nanoseconds.
int64_t steadyNs();

/// The durations of a process's calls, in microseconds.
class CallDurations {
public:
  void add(double microseconds) { durations.push_back(microseconds); }
  /// Returns those of all calls but the first, which warms caches up; that of the first if there is no other.
  std::vector<double> getCounted() const;

private:
  std::vector<double> durations;
};

/// The times of all calls but the first, which warms caches up; of the first if there is no other. Without any call
/// (all steps of the loop were done before) `runs` is 0, and the times of calls are null in the JSON.
struct RunTimes {
  double medianUs = 0, minUs = 0, maxUs = 0;
  size_t runs = 0;
  double compileMs = 0, firstResultMs = 0;
  /// Returns a line for the user.
  std::string text() const;
  /// Returns one object with the keys of `--time-json`.
  std::string json() const;
};

/// Returns the times of the slowest process for each call. Every process calls it, with equally many durations.
RunTimes slowestTimes(Job &job, double firstResultMs, std::vector<double> durationsUs);

} // namespace spmd
