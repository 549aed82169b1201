//===- Restarts.h - restarts of a job after a fault -------------*- C++ -*-===//
//
// `--restarts N` of `run` and `launch`. Only faults are retried: a process was killed, was lost, hangs, did not join.
// An error that a program reports (an error, a NaN, a wrong option) would happen again, so it is not retried.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/coordinator/Launcher.h"
#include "runtime/runner/RunLog.h"
#include "runtime/runner/RunReport.h"

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>

namespace spmd {

struct RestartOptions {
  int count = 0;                         ///< The largest number of restarts.
  std::chrono::milliseconds delay{1000}; ///< The delay before the first restart; doubled each time, up to a minute.
  std::optional<int32_t> minProcesses;   ///< If set, restarts leave out the processes that died, down to this number.
  /// Returns the largest number of processes, at most `most`, that can share the mesh equally, or 0.
  std::function<int32_t(int32_t most)> fit = [](int32_t most) { return most; };
};

/// Returns whether the same job might succeed at another attempt.
bool isFault(const LaunchResult &result);

/// Launches, and launches again after faults. `prepare` changes `launch` (command, environment; numProcesses is already
/// set) for a restart after `result`, and returns the step that the job continues from. `log` and `report` receive the
/// events. Children find the number of the restart in SPMD_RESTART_COUNT.
LaunchResult launchWithRestarts(
    LaunchOptions launch, const RestartOptions &options, RunLog &log, RunReport &report,
    const std::function<std::optional<int64_t>(LaunchOptions &launch, const LaunchResult &result)> &prepare);

} // namespace spmd
