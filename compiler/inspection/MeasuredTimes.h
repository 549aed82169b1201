//===- MeasuredTimes.h - what a trace says of a program's times -*- C++ -*-===//
#pragma once

#include "passes/report/ProgramReport.h"

#include <map>
#include <string>
#include <tuple>
#include <vector>

namespace spmdc {

/// Seconds of one call on one device, the mean of all devices and of all calls but the first, which warms up. What a
/// loop or a branch takes is what the steps in it take.
class MeasuredTimes {
public:
  /// Reads what `spmdc run --profile` has written. Throws spmd::Error where the file cannot be read or is no such
  /// trace.
  static MeasuredTimes read(const std::string &fileName);

  double communicationSeconds = 0; ///< Waiting for others included.
  double computeSeconds = 0;
  double callSeconds = 0; ///< From the beginning of a call to its end.
  int64_t calls = 0;      ///< The first left out, if there are others.

  /// Of collectives of this operation over these axes from this place, all trips together.
  double secondsOf(const CollectiveReport &collective) const;

private:
  using Key = std::tuple<std::string, std::string, std::vector<std::string>>;
  std::map<Key, double> collectives; ///< By operation, place and axes.
};

} // namespace spmdc
