//===- JobSession.cpp - a run as one process of its job -------------------===//

#include "runtime/runner/JobSession.h"

#include "runtime/api/Runtime.h"
#include "runtime/artifact/ArtifactFile.h"
#include "runtime/runner/JoinColumns.h"
#include "runtime/runner/OptionChecks.h"

#include <algorithm>
#include <source_location>

namespace spmd {

JoinOptions JobSession::makeJoinOptions(std::function<void(const Topology &, const Verdict &)> unheeded) {
  const RunOptions &options = run.options;
  const Artifact &artifact = *run.artifact;
  int processes = options.job.num_processes.value_or(run.environment.numProcesses.value_or(1));
  int devices =
      devicesPerProcess(options, run.environment, artifact.plan.mesh, std::max(processes, 1), run.startsProcesses());
  JoinOptions join = resolveJoinOptions(options.job, run.environment, devices);
  join.backend = artifact.plan.target.backend;
  numProcesses = join.numProcesses;
  process = join.processId;
  reporter.setProcess(process, numProcesses);
  join.columns = run.request.columns;
  for (JoinColumn &column : columnsOf(options, artifact.plan, reporter.profile.getRecord() != nullptr))
    join.columns.push_back(std::move(column));
  join.programDigest = fingerprint(artifact);
  join.programDetails = [this] {
    std::vector<JoinColumn> details;
    if (run.request.programDetails)
      details = run.request.programDetails();
    for (JoinColumn &detail : detailsOf(*run.artifact))
      details.push_back(std::move(detail));
    return details;
  };
  join.notice = [this](const Notice &notice) { reporter.log.write(notice); };
  join.joining = [this](Client *client) {
    std::lock_guard guard(changing);
    joining = client;
  };
  join.unheeded = std::move(unheeded);
  return join;
}

void JobSession::join(JoinOptions options) {
  isStarted = true;
  initializeRuntime(std::move(options), std::source_location::current());
  std::lock_guard guard(changing);
  job = currentJob(std::source_location::current());
}

void JobSession::announce() {
  if (run.options.metricsPort && process == 0) { // Process 0 has the statistics of all.
    metrics = std::make_unique<MetricsServer>(*run.options.metricsPort,
                                              [job = job.get()] { return job->getClient().status(); });
    reporter.log.write(RunLog::Level::Info, "metrics at http://" + metrics->getAddress() + "/metrics");
  }
  if (run.isLaunched())
    return;
  if (std::string warning = sharedFileWarning(run.options, job->getClient().topology(), process); !warning.empty())
    reporter.log.write(RunLog::Level::Warning, warning);
}

} // namespace spmd
