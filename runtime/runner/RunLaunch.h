//===- RunLaunch.h - the processes that `run` starts ------------*- C++ -*-===//
#pragma once

#include "runtime/runner/RunLog.h"
#include "runtime/runner/RunProgram.h"
#include "runtime/runner/RunReport.h"
#include "runtime/support/Env.h"

namespace spmd {

/// What a run that starts processes is made of.
struct ProcessLaunch {
  const RunOptions &options;
  const RunRequest &request;
  const Artifact &artifact;
  const Environment &environment;
  RunLog &log;
  RunReport &report;
  /// Takes the lines of the profile that the processes have left, if one is asked for; false where it is lost.
  std::function<bool(std::string_view lines)> writeProfile;
};

/// Starts the processes and waits for them, again after faults where that is asked for; returns the exit status.
int launchProcesses(const ProcessLaunch &run);

} // namespace spmd
