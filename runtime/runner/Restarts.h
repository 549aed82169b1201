//===- Restarts.h - a job that begins again after a fault -------*- C++ -*-===//
//
// `--restarts N` of `run` and `launch`. What is tried again is a fault: a process was killed, was lost, hangs, did not
// come. What a program says about itself (an error, a NaN, a wrong option) would come again at once, and is not.
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
  int count = 0;                         ///< How often at most.
  std::chrono::milliseconds delay{1000}; ///< Before the first; doubled each time, to a minute.
  std::optional<int32_t> minProcesses;   ///< With it, a restart does without the processes that died.
  /// The number of processes that may take the place of at most so many, or 0: they must share the work equally.
  std::function<int32_t(int32_t most)> fit = [](int32_t most) { return most; };
};

/// Would the same again end better?
bool isFault(const LaunchResult &result);

/// Launches, and launches again after faults. `prepare` changes `launch` (command, environment, numProcesses stands
/// there already) for a restart after `result`, and says from which step it goes on. What happens is told to `log` and
/// `report`. Children find the number of the restart in SPMD_RESTART_COUNT.
LaunchResult launchWithRestarts(
    LaunchOptions launch, const RestartOptions &options, RunLog &log, RunReport &report,
    const std::function<std::optional<int64_t>(LaunchOptions &launch, const LaunchResult &result)> &prepare);

} // namespace spmd
