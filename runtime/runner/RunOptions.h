//===- RunOptions.h - the options of a run ----------------------*- C++ -*-===//
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
  std::vector<std::string> inputs, outputs; ///< Entries `NAME=...`.
  std::optional<uint64_t> shuffle;          ///< The seed of the order of rows that are fed in batches.
  LastBatch lastBatch = LastBatch::drop;    ///< Drop or wrap: a program's batches have one size.
  bool print = false, printShards = false;
  bool verbose = false;
  bool showProgress = false;           ///< Show the step in one line of the terminal that is overwritten.
  int repeat = 0;                      ///< Calls to time after the first; 0: run once.
  int64_t steps = 0;                   ///< Calls in sequence, with results fed back as parameters; 0: no such loop.
  std::vector<std::string> carries;    ///< The names of the values that are fed back.
  std::string checkpointDirectory;     ///< The folder for the carried values, or empty.
  int64_t checkpointEvery = 0;         ///< Save after so many steps, and after the last; 0: after the last only.
  int64_t checkpointKeep = 0;          ///< The number of newest checkpoints to keep; 0: all.
  std::optional<int64_t> resume;       ///< The step to continue from; -1: the newest.
  bool resumePartial = false;          ///< Accept a checkpoint that has more values than are carried.
  std::string timeJson;                ///< A file, or empty.
  std::string reportFile;              ///< The file for the report of the run's end, or empty.
  bool checkNans = false;              ///< A NaN in a result is an error.
  std::string profileFile;             ///< The file for the trace of all steps, or empty.
  std::string profilePart;             ///< The file to which a process started by `run` appends its lines of the trace.
  std::optional<uint16_t> metricsPort; ///< The port at which process 0 serves metrics; 0: any.
  LogFormat logFormat = LogFormat::Text;
  RestartOptions restart;
  /// The launcher passes these to the processes that it starts: how long compiling took, and when it began (nanoseconds
  /// of the steady clock).
  double compileMs = 0;
  int64_t startedAtNs = 0;
};

struct RunRequest {
  std::string command = "spmdc"; ///< The prefix of messages.
  /// Compiles or loads. Returns null on failure, after writing the reason to `messages`; the exit status is then 1.
  std::function<std::shared_ptr<const Artifact>(std::ostream &messages)> load;
  /// Other values that must be the same on all processes: source text, --set, ...
  std::vector<JoinColumn> columns;
  /// Returns what the program was compiled from: the source text, and options that do not matter if the compiled
  /// program is the same. Called after `load`, on another thread, and only if programs differ; may be empty.
  std::function<std::vector<JoinColumn>()> programDetails = {};
  /// Returns the command that runs the artifact in that file with these options in a process of its own.
  std::function<std::vector<std::string>(const RunOptions &options, const std::string &artifactPath)> childCommand;
  /// A line about the options, which process 0 prints before it runs; may be empty.
  std::string note = {};
  std::ostream &out;
  std::ostream &err;
};

} // namespace spmd
