//===- MeasuredTimes.h - times of a program from a trace --------*- C++ -*-===//
#pragma once

#include "passes/report/ProgramReport.h"

#include <map>
#include <string>
#include <tuple>
#include <vector>

namespace spmdc {

/// Seconds of one call on one device: the mean over all devices and over all calls but the first, which warms up. The
/// time of a loop or a branch is the sum of the steps inside.
class MeasuredTimes {
public:
  /// Reads a trace that `spmdc run --profile` has written. Throws spmd::Error if the file cannot be read or is not such
  /// a trace.
  static MeasuredTimes read(const std::string &fileName);

  double communicationSeconds = 0; ///< Includes waiting for other devices.
  double computeSeconds = 0;
  double callSeconds = 0; ///< From the beginning of a call to its end.
  int64_t calls = 0;      ///< Without the first, if there are others.

  /// The time of all collectives with the operation, axes and source position of `collective`, loop iterations
  /// included; 0 if the trace has none.
  double secondsOf(const CollectiveReport &collective) const;

  /// How often the collective ran in a call, on average. Its trip count, except in a `while`: then the number that the
  /// trace has of the step that ran most often, among the same collectives (a ring has several steps).
  double runsOf(const CollectiveReport &collective) const;

private:
  using Key = std::tuple<std::string, std::string, std::vector<std::string>>;
  struct Times {
    double seconds = 0;
    std::map<int64_t, int64_t> runs; ///< On all devices and in all calls, by the number of the step.
  };
  int64_t deviceCalls = 1; ///< The calls, times the devices.
  static Key keyOf(const CollectiveReport &collective);
  std::map<Key, Times> collectives; ///< By operation, source position and axes.
};

} // namespace spmdc
