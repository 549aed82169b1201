//===- RunProgram.h - everything `run` does with an artifact ----*- C++ -*-===//
//
// `spmdc run` and `spmd-run` are thin: they parse options and get an artifact. From there on both do the same: start
// processes or join a job, build inputs, run, time, write results, and turn errors into one line and an exit status.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/api/include/spmd/spmd.h"
#include "runtime/artifact/Plan.h"
#include "runtime/coordinator/Client.h"
#include "runtime/runner/Restarts.h"
#include "runtime/runner/RunLog.h"

#include <functional>
#include <memory>
#include <optional>
#include <ostream>
#include <string>
#include <vector>

namespace spmd {

struct RunOptions {
  InitializeOptions job;
  std::vector<std::string> inputs, outputs; ///< `NAME=...`.
  std::optional<uint64_t> shuffle;          ///< The seed of the order of rows that are fed in batches.
  LastBatch lastBatch = LastBatch::drop;    ///< Drop or wrap: a program's batches have one size.
  bool print = false, printShards = false;
  bool verbose = false;
  bool showProgress = false;           ///< A person watches: say which step it is, in one line that is written over.
  int repeat = 0;                      ///< Calls to time after the first; 0: run once.
  int64_t steps = 0;                   ///< Calls in a row, results fed back as parameters; 0: no such loop.
  std::vector<std::string> carries;    ///< The values fed back, by name.
  std::string checkpointDirectory;     ///< Where what is carried is saved, or empty.
  int64_t checkpointEvery = 0;         ///< After so many steps, and after the last; 0: after the last only.
  int64_t checkpointKeep = 0;          ///< Of the newest checkpoints; 0: all.
  std::optional<int64_t> resume;       ///< The step to go on from; -1: the newest.
  bool resumePartial = false;          ///< Also from a checkpoint that has more values than are carried.
  std::string timeJson;                ///< File, or empty.
  std::string reportFile;              ///< Where the end of the run is written, or empty.
  bool checkNans = false;              ///< A NaN in a result is an error.
  std::string profileFile;             ///< Where the trace of all steps is written, or empty.
  std::string profilePart;             ///< What a command that starts processes gives them: where theirs is appended.
  std::optional<uint16_t> metricsPort; ///< Where process 0 serves metrics; 0: any.
  LogFormat logFormat = LogFormat::Text;
  RestartOptions restart;
  /// What a command that starts processes tells them: how long compiling took, and when it began (nanoseconds of the
  /// steady clock).
  double compileMs = 0;
  int64_t startedAtNs = 0;
};

struct RunRequest {
  std::string command = "spmdc"; ///< What messages begin with.
  /// Compiles or loads. Null: it failed, and what was written to `messages` says why; the status is 1.
  std::function<std::shared_ptr<const Artifact>(std::ostream &messages)> load;
  /// What else must be the same on all processes: source text, --set, ...
  std::vector<JoinColumn> columns;
  /// What the program was compiled of: options that make no difference where the compiled program is the same, and the
  /// source text. Called after `load`, on another thread, and only where programs differ; may be empty.
  std::function<std::vector<JoinColumn>()> programDetails = {};
  /// The command that runs the artifact in that file with these options in a process of its own.
  std::function<std::vector<std::string>(const RunOptions &options, const std::string &artifactPath)> childCommand;
  std::ostream &out;
  std::ostream &err;
};

/// Runs the program, and returns the exit status: 0, 1 (it failed), 2 (the command line was wrong).
int runProgram(RunOptions options, const RunRequest &request);

} // namespace spmd
