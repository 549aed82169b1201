//===- Launcher.h - starts the processes of a job on this machine ---*- C++ -*-===//
//
// Starts N copies of a command as processes 0..N-1 of one job, watches them, and ends all when one fails. The kernel
// chooses the port: the launcher listens, and process 0 inherits the socket. The environment tells each child which
// process it is (see Environment), and an inherited socket tells it how others ended, so that verdicts can name the
// signal.
//
// No process outlives the job: the children form one process group, whose leader is a guard process. The guard kills
// the group when the launcher ends for whatever reason, and the kernel kills each child when its parent dies.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/coordinator/ChildReport.h"

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <sys/types.h>

namespace spmd {

struct LaunchOptions {
  /// Program and arguments; the program is searched in PATH if it has no slash.
  std::vector<std::string> command;
  int32_t numProcesses = 1;
  /// Variables for the children's environment, beside those that the launcher sets.
  std::vector<std::pair<std::string, std::string>> environment;
  /// The launcher reads the children's output through pipes, and writes it with each line prefixed by `[process 2] `
  /// and never split. Otherwise children write to this process's stdout and stderr.
  bool prefixOutput = false;
  /// How long the other children may take to end after one failed or a signal came, and again after SIGTERM; then they
  /// are killed.
  std::chrono::milliseconds settleTime{1000};
  std::chrono::milliseconds graceTime{1000};
  /// How long children may take after a first SIGTERM unless one fails: programs that save their state need more time.
  std::chrono::milliseconds terminationTime{1000};
  /// The same once one child has ended as it was asked to: the children save together, and a stopped child never ends.
  std::chrono::milliseconds partingTime{30000};
  /// The token that observers of the job (`spmdc status`) must know; empty: the job has no observers.
  std::string statusToken;
  /// Called when all children run, with their pids by process id, and the coordinator's address.
  std::function<void(const std::vector<pid_t> &pids, const std::string &address)> started;
};

/// How a child ended.
struct ChildEnd {
  int32_t process = 0;
  pid_t pid = 0;
  int signal = 0; ///< The signal that killed it; 0: it exited by itself, with `status`.
  int status = 0;
  bool takenDown = false; ///< The launcher ended it, after another child had failed or a signal had come.
  bool succeeded() const { return signal == 0 && status == 0; }
  /// `process 2 (pid 4711) was killed by signal 9 (SIGKILL)`.
  std::string str() const;
};

struct LaunchResult {
  std::vector<ChildEnd> children;   ///< Indexed by process id.
  std::vector<ChildReport> reports; ///< The reports of the children, indexed by process id.
  /// The process that failed first; nullopt: none failed.
  std::optional<ChildEnd> culprit;
  /// The signal (SIGINT, SIGTERM, SIGHUP) that the launcher received and that ended the job; 0: none.
  int interruptedBy = 0;
  /// Returns the job's verdict, or null if no child reported one. All children report the same.
  const Verdict *verdict() const;
  /// Returns why the job failed, if there is a culprit: the verdict, or how that process ended.
  std::string cause() const;
  /// Returns whether the job failed while it was ending on request, so that the state it was to save is lost.
  bool hasFailedAtTheEnd() const;
  /// Returns whether a child has ended because the reader of its output is gone (`run ... | head -1`). That is no
  /// error: the exit status is the one that a shell gives a single process, 128 + SIGPIPE.
  bool isReaderGone() const;
  /// The errno for which output of the children could not be written to stdout or stderr; 0: all was written, or its
  /// reader is gone.
  int outputProblem = 0;
  /// Returns the launcher's own exit status: 0, the culprit's exit status, 1 if the culprit was killed or could not end
  /// in order, or 128 + the signal.
  int exitStatus() const;
};

/// Runs the job to its end. The calling thread must live as long as the call. The call must come before the process has
/// other threads, so that it can handle Ctrl-C: it takes SIGINT, SIGTERM and SIGHUP over. Throws spmd::Error if the
/// children cannot be started (the error names the command); no child is left then.
LaunchResult launchLocal(const LaunchOptions &options);

} // namespace spmd
