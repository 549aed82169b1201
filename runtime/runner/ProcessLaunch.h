//===- ProcessLaunch.h - the processes that `run` starts --------*- C++ -*-===//
#pragma once

#include "runtime/runner/RunLog.h"
#include "runtime/runner/RunOptions.h"
#include "runtime/runner/RunReport.h"
#include "runtime/support/Env.h"

namespace spmd {

/// The inputs of launchProcesses.
struct ProcessLaunch {
  const RunOptions &options;
  const RunRequest &request;
  const Artifact &artifact;
  const Environment &environment;
  RunLog &log;
  RunReport &report;
  /// Writes the trace from the lines of the profile that the processes have left, if the user asked for one; returns
  /// false if it is lost.
  std::function<bool(std::string_view lines)> writeProfile;
};

/// Starts the processes and waits for them, and restarts them after faults if restarts are enabled; returns the exit
/// status.
int launchProcesses(const ProcessLaunch &run);

} // namespace spmd
