//===- JobSession.h - a run as one process of its job -----------*- C++ -*-===//
#pragma once

#include "runtime/api/Job.h"
#include "runtime/runner/Metrics.h"
#include "runtime/runner/RunReporter.h"

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>

namespace spmd {

/// Joins the job of a run, and owns it from then on. Other threads may end the run at any time, also during the join.
class JobSession {
public:
  JobSession(const PreparedRun &run, RunReporter &reporter) : run(run), reporter(reporter) {}

  /// Returns the options to join with: the user's, and everything that the processes compare. Throws usage errors.
  /// `unheeded` is as in JoinOptions.
  JoinOptions makeJoinOptions(std::function<void(const Topology &, const Verdict &)> unheeded);
  /// Joins, and throws as Client::join does. From then on the others learn of a failure from the job.
  void join(JoinOptions options);
  /// Serves `--metrics-port` and warns about files that processes share.
  void announce();

  /// While the lock is held, the functions below with "locked" in their comment return the same. The thread that ends
  /// the run holds it, so that neither the job nor a second end interferes.
  std::unique_lock<std::mutex> lock() { return std::unique_lock(changing); }
  /// Returns the job; null before it is joined. Locked, except on the main thread.
  const std::shared_ptr<Job> &getJob() const { return job; }
  /// Returns the client of the job, or the one that is joining; null before that. Locked.
  Client *findClient() const { return job ? &job->getClient() : joining; }
  /// Returns the processes of the job; empty before it is joined. Locked, except on the main thread.
  Topology topology() const { return job ? job->getClient().topology() : Topology(); }

  /// Returns whether the job was joined or is being joined.
  bool hasStarted() const { return isStarted; }
  /// Returns the number of this process in the job, or before the join the one that options or environment give it.
  int32_t getProcess() const { return isStarted ? process : run.getGivenProcess(); }
  int32_t getProcessCount() const { return numProcesses; }

private:
  const PreparedRun &run;
  RunReporter &reporter;
  std::mutex changing; ///< Held while `job` or `joining` changes.
  std::shared_ptr<Job> job;
  Client *joining = nullptr; ///< Before there is a job.
  std::unique_ptr<MetricsServer> metrics;
  int32_t numProcesses = 1, process = 0;
  std::atomic<bool> isStarted{false};
};

} // namespace spmd
