//===- Launcher.h - starts the processes of a job on this machine ---*- C++ -*-===//
//
// Starts N copies of a command as processes 0..N-1 of one job, watches them, and takes all down when one fails. The
// port is chosen by the kernel: the launcher listens, and process 0 inherits the socket. Children are told through
// the environment (see Environment) who they are, and through an inherited socket how others ended, so that verdicts
// can name the signal.
//
// No orphans: children form one process group of which a guard process is the leader; it kills the group when the
// launcher goes for whatever reason, and the kernel kills each child itself when its parent dies.
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
  /// Program and arguments; the program is looked for in PATH if it has no slash.
  std::vector<std::string> command;
  int32_t numProcesses = 1;
  /// Set in the children's environment, beside what the launcher sets itself.
  std::vector<std::pair<std::string, std::string>> environment;
  /// Children's output through pipes, each line prefixed by `[process 2] `, lines never torn. Otherwise they write to
  /// this process's stdout and stderr themselves.
  bool prefixOutput = false;
  /// After one failed or a signal came: how long the others may take to end on their own, then after SIGTERM; what is
  /// left then is killed.
  std::chrono::milliseconds settleTime{1000};
  std::chrono::milliseconds graceTime{1000};
  /// How long they may take after a first SIGTERM, unless one fails: programs that save their state need more.
  std::chrono::milliseconds terminationTime{1000};
  /// And once one of them has ended as it was asked to: they save together, and one that is stopped never ends.
  std::chrono::milliseconds partingTime{30000};
  /// What observers of the job (`spmdc status`) prove to know; empty: they cannot.
  std::string statusToken;
  /// Called when all children run, with their pids by process id and the coordinator's address.
  std::function<void(const std::vector<pid_t> &pids, const std::string &address)> started;
};

/// How a child ended.
struct ChildEnd {
  int32_t process = 0;
  pid_t pid = 0;
  int signal = 0; ///< 0: it exited by itself, with `status`.
  int status = 0;
  bool takenDown = false; ///< By the launcher, after another one had failed or a signal had come.
  bool succeeded() const { return signal == 0 && status == 0; }
  /// `process 2 (pid 4711) was killed by signal 9 (SIGKILL)`.
  std::string str() const;
};

struct LaunchResult {
  std::vector<ChildEnd> children;   ///< By process id.
  std::vector<ChildReport> reports; ///< What they told about themselves, by process id.
  /// Who failed first, if anybody did.
  std::optional<ChildEnd> culprit;
  /// The signal (SIGINT, SIGTERM, SIGHUP) that ended the job, sent to the launcher; 0: none.
  int interruptedBy = 0;
  /// The job's verdict, where the children had one: all have the same.
  const Verdict *verdict() const;
  /// Why a job failed in which there is a culprit: the verdict, or how that process ended.
  std::string cause() const;
  /// Whether the job failed of itself when it was to end: what it was to save then is lost.
  bool hasFailedAtTheEnd() const;
  /// Why not all that they said could be written to stdout or stderr (an errno); 0: it was, or nobody reads any more.
  int outputProblem = 0;
  /// For the launcher's own exit: 0, the culprit's exit status, 1 if it was killed or could not end in order, or
  /// 128 + the signal.
  int exitStatus() const;
};

/// Runs the job to its end. To be called on a thread that lives as long as the call and, so that Ctrl-C can be handled
/// here, before the process has other threads; SIGINT, SIGTERM and SIGHUP are taken over during the call. Throws
/// spmd::Error when the children cannot be started (the command is named); no child is left then.
LaunchResult launchLocal(const LaunchOptions &options);

} // namespace spmd
