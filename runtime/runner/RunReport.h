//===- RunReport.h - how a run ended, as JSON (--report) --------*- C++ -*-===//
//
// One object, the same keys after every end. It is written by who is there at the end: the command that started the
// processes, or, in a cluster, each process that was given a file.
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
  /// `succeeded`; `failed`, `killed`, `exited`, `lost`, `hung`, `stuck`, `missing` for who ended the job; `stopped`: it
  /// ended because the job did.
  std::string state;
  std::optional<int> exitCode, signal;
  std::optional<int64_t> stepsDone;
};

class RunReport {
public:
  explicit RunReport(std::string command) : command(std::move(command)), began(std::chrono::system_clock::now()) {}

  /// The end of processes that were started here.
  void describe(const LaunchResult &result);
  /// The end of a job as one of its processes sees it. `verdict` may be null: then it went well or `error` is why not.
  void describe(const Topology &topology, int32_t self, const Verdict *verdict, bool failed,
                std::optional<int64_t> stepsDone);
  /// What ended the run before there were processes, or where nobody gave a verdict.
  void setError(const std::string &message);
  /// The run is begun again after this end of an attempt.
  void addRestart(const std::string &message, std::optional<int64_t> resumedFrom, int32_t numProcesses);

  int64_t steps = 0; ///< Of the loop that was asked for; 0: none.

  /// `exitStatus`: the command's own.
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

/// What is said of a run that was ended by a signal to the command that started it.
std::string interruptionText(int signal);

/// Where a process writes what an option names: `{process}` stands for its number, for clusters, whose processes are
/// given the same options.
std::string pathOfProcess(std::string path, int process);

/// Throws a usage error if a file could not be written there when the run ends: one of a week should not end with that.
void checkWritable(const std::string &option, const std::string &path);

} // namespace spmd
