//===- RunReport.h - how a run ended, as JSON (--report) --------*- C++ -*-===//
//
// One object, with the same keys after every end. The command that started the processes writes it, or, in a cluster,
// each process that was given a file.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/coordinator/Client.h"
#include "runtime/coordinator/Launcher.h"

#include <chrono>
#include <optional>
#include <string>
#include <vector>

namespace spmd {

/// How one process ended, as far as the writer knows.
struct ProcessReport {
  int32_t process = 0;
  std::string host;
  int64_t pid = 0;
  /// `succeeded`; for the process that ended the job `failed`, `killed`, `exited`, `lost`, `hung`, `stuck` or
  /// `missing`; `stopped`: it ended because the job did.
  std::string state;
  std::optional<int> exitCode, signal;
  std::optional<int64_t> stepsDone;
};

class RunReport {
public:
  explicit RunReport(std::string command) : command(std::move(command)), began(std::chrono::system_clock::now()) {}

  /// Records the end of processes that this command started.
  void describe(const LaunchResult &result);
  /// Records the end of a job as one of its processes sees it. `verdict` may be null: the job succeeded, or `error`
  /// says why not.
  void describe(const Topology &topology, int32_t self, const Verdict *verdict, bool failed,
                std::optional<int64_t> stepsDone);
  /// Records the error that ended the run before there were processes, or without a verdict.
  void setError(const std::string &message);
  /// Records that the job is restarted after this end of an attempt.
  void addRestart(const std::string &message, std::optional<int64_t> resumedFrom, int32_t numProcesses);

  int64_t steps = 0; ///< Steps of the requested loop; 0: none.

  /// `exitStatus` is that of the command.
  std::string json(int exitStatus) const;

private:
  struct Restart {
    std::string time, message;
    std::optional<int64_t> resumedFrom;
    int32_t numProcesses;
  };

  std::string command;
  std::chrono::system_clock::time_point began;
  int interruptedBy = 0;
  std::optional<Verdict> verdict;
  std::optional<std::string> error;
  std::vector<ProcessReport> processes;
  std::vector<Restart> restarts;
};

/// Returns the message for a run that was ended by a signal to the command that started it.
std::string interruptionText(int signal);

/// Returns the path at which a process writes: replaces `{process}` by its number. For clusters, whose processes get
/// the same options.
std::string pathOfProcess(std::string path, int process);

/// Throws a usage error if a file could not be written there at the end of the run, so that a long run does not fail
/// for that.
void checkWritable(const std::string &option, const std::string &path);

} // namespace spmd
