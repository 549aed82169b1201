//===- RunTermination.h - how a run ends ------------------------*- C++ -*-===//
#pragma once

#include "runtime/runner/EndingThread.h"
#include "runtime/runner/JobSession.h"
#include "runtime/runner/StopRequest.h"
#include "runtime/support/SignalWatch.h"

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace spmd {

/// Ends the run in this process: normally, by an error, by a signal, or by a verdict of the job. The others learn why,
/// and each end is reported once.
class RunTermination {
public:
  RunTermination(const PreparedRun &run, JobSession &session, RunReporter &reporter)
      : run(run), session(session), reporter(reporter) {}

  /// Watches signals from here on, if that is not done yet. The first to end the run, the program or the thread of
  /// signals, writes the report.
  void watchSignals();
  /// The request of SIGTERM to a loop of steps with checkpoints.
  StopRequest stopRequest;

  /// Returns what to do if the job has a verdict and the program does not end: ends the process.
  std::function<void(const Topology &, const Verdict &)> endingUnheeded();

  /// Records the end of a run without an error. `interruption` is the verdict if all processes ended because one was
  /// asked to, and no launcher reports it; otherwise null.
  void end(const Verdict *interruption);
  /// Prints the root cause, which is the same on all processes. `told` is the verdict if the job ended while this
  /// process joined. Returns the exit status.
  int endByError(const Error &error, const Verdict *told = nullptr);
  /// Records the error that ends this process before it joins.
  void setStartFailure(std::string error) { startFailure = std::move(error); }
  /// Tells the other processes of a cluster about the start failure, if there was one.
  void tellStartFailure();

private:
  void endBySignal(int number);
  bool isReaderGone(const Verdict *verdict) const;

  const PreparedRun &run;
  JobSession &session;
  RunReporter &reporter;
  /// Shared with the client, which may outlive this object.
  std::shared_ptr<EndingThread> turn = std::make_shared<EndingThread>();
  std::string startFailure;
  std::unique_ptr<SignalWatch> signals;
};

/// Returns the signals that a process of a run handles itself. `writesAtEnd`: it has a profile or a report to write.
std::vector<int> signalsToWatch(bool isMember, bool isLaunched, bool writesAtEnd, bool savesCheckpoints);

/// Returns the exit status of a process whose job ended with this verdict.
int exitStatusOf(const Verdict &verdict);

} // namespace spmd
