//===- PreparedRun.h - a run before it joins a job --------------*- C++ -*-===//
#pragma once

#include "runtime/runner/OptionChecks.h"
#include "runtime/runner/RunOptions.h"
#include "runtime/support/Env.h"

#include <memory>
#include <string>

namespace spmd {

/// The options, the environment and the program of a run. The functions below complete them in the order of their
/// declaration, on the main thread; afterwards nothing changes, and the other classes of the run read it.
struct PreparedRun {
  PreparedRun(RunOptions options, const RunRequest &request);

  /// Reads the environment, which may request to resume, and checks that this process can write its files. Warnings go
  /// to `log`. Throws usage errors.
  void readEnvironment(RunLog &log);
  /// Loads or compiles the program. Returns the messages about that; `artifact` is null if they have an error.
  std::string load();
  /// Checks the options against the program. Throws usage errors; a warning goes to `log`.
  void check(RunLog &log);

  /// Returns the id that options or environment give this process, before the job is joined.
  int getGivenProcess() const { return options.job.process_id.value_or(environment.processId.value_or(0)); }
  /// Returns whether this is one process of a job with several.
  bool isMember() const;
  /// Returns whether `run` itself started this process.
  bool isLaunched() const { return environment.launcherFd.has_value(); }
  /// Returns whether to start processes. Restarts, reports and profiles need a launcher that outlives the process, even
  /// for one process.
  bool startsProcesses() const;

  RunOptions options;
  const RunRequest &request;
  Environment environment;
  std::shared_ptr<const Artifact> artifact;
  CheckedRun checked;
};

} // namespace spmd
