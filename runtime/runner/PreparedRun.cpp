//===- PreparedRun.cpp - a run before it joins a job ----------------------===//

#include "runtime/runner/PreparedRun.h"

#include "runtime/runner/CallTimes.h"
#include "runtime/runner/RunReport.h"

#include <sstream>

namespace spmd {

PreparedRun::PreparedRun(RunOptions ownOptions, const RunRequest &request)
    : options(std::move(ownOptions)), request(request) {
  if (options.startedAtNs == 0)
    options.startedAtNs = steadyNs();
}

void PreparedRun::readEnvironment(RunLog &log) {
  environment = Environment::read(/*isAlone=*/options.job.num_processes == 1);
  for (const std::string &misspelt : environment.misspelt)
    log.write(RunLog::Level::Warning, misspelt);
  if (!isMember() && options.job.num_processes != 1 && !environment.clusterError.empty())
    throw Error(environment.clusterError, Error::Kind::Usage);
  if (!isMember() && !options.job.num_processes && !environment.clusterWarning.empty())
    log.write(RunLog::Level::Warning, environment.clusterWarning);
  if (environment.resumes && !options.checkpointDirectory.empty())
    options.resume = -1;
  checkWritable("--report", pathOfProcess(options.reportFile, getGivenProcess()));
  checkWritable("--profile", pathOfProcess(options.profileFile, getGivenProcess()));
  if (getGivenProcess() == 0)
    checkWritable("--time-json", options.timeJson);
}

std::string PreparedRun::load() {
  int64_t began = steadyNs();
  std::ostringstream messages;
  artifact = request.load(messages);
  if (artifact && options.compileMs == 0)
    options.compileMs = static_cast<double>(steadyNs() - began) * 1e-6;
  return messages.str();
}

void PreparedRun::check(RunLog &log) {
  checked = checkRunOptions(options, artifact->plan, isMember());
  if (std::string warning = loopWarning(options, checked); !warning.empty() && !isLaunched() && getGivenProcess() == 0)
    log.write(RunLog::Level::Warning, warning);
}

bool PreparedRun::isMember() const {
  return options.job.coordinator_address || environment.coordinatorAddress || options.job.process_id ||
         environment.processId;
}

bool PreparedRun::startsProcesses() const {
  int count = options.job.num_processes.value_or(1);
  return !isMember() &&
         (count > 1 || options.restart.count > 0 || !options.reportFile.empty() || !options.profileFile.empty());
}

} // namespace spmd
