//===- RunTermination.cpp - how a run ends --------------------------------===//

#include "runtime/runner/RunTermination.h"

#include "runtime/runner/StartFailure.h"
#include "runtime/support/Process.h"

#include <csignal>
#include <unistd.h>

namespace spmd {

std::vector<int> signalsToWatch(bool isMember, bool isLaunched, bool writesAtEnd, bool savesCheckpoints) {
  std::vector<int> numbers;
  // A launcher signals all of its processes, so those that have nothing to write need not handle that.
  if (isMember && (!isLaunched || writesAtEnd))
    numbers = {SIGINT, SIGHUP};
  if (!numbers.empty() || savesCheckpoints)
    numbers.push_back(SIGTERM);
  return numbers;
}

int exitStatusOf(const Verdict &verdict) {
  return verdict.cause == Verdict::Cause::Interrupted ? 128 + static_cast<int>(verdict.detail) : 1;
}

/// The reader of the output of all processes is gone (`run ... | head -1`), which is no error: the launcher ends with
/// the status that says so, and no process reports it.
bool RunTermination::isReaderGone(const Verdict *verdict) const {
  return run.isLaunched() && verdict && verdict->cause == Verdict::Cause::Killed && verdict->detail == SIGPIPE;
}

void RunTermination::watchSignals() {
  if (signals)
    return;
  // The last step for the launcher's report is sent at the end.
  bool writesAtEnd =
      reporter.profile.getRecord() || !run.options.reportFile.empty() || (run.isLaunched() && run.options.steps > 0);
  std::vector<int> numbers =
      signalsToWatch(run.isMember(), run.isLaunched(), writesAtEnd, !run.options.checkpointDirectory.empty());
  if (!numbers.empty())
    signals = std::make_unique<SignalWatch>(numbers, [this](int number) {
      if (number != SIGTERM || !stopRequest.make())
        endBySignal(number);
    });
}

std::function<void(const Topology &, const Verdict &)> RunTermination::endingUnheeded() {
  return [this, turn = turn](const Topology &topology, const Verdict &verdict) {
    turn->endInstead(exitStatusOf(verdict), [&] {
      if (!isReaderGone(&verdict))
        reporter.log.write(RunLog::Level::Error, verdict.str(), &verdict);
      reporter.describeEnd(topology, /*failed=*/true, verdict.str(), &verdict);
      reporter.writeReport(exitStatusOf(verdict));
    });
  };
}

void RunTermination::end(const Verdict *interruption) {
  auto lock = session.lock();
  reporter.describeEnd(session.topology(), /*failed=*/false, std::nullopt, interruption);
}

/// Writes report and profile even if the program itself cannot be interrupted. If `run` started the processes, the
/// launcher signals all of them; in a cluster this process informs the others.
void RunTermination::endBySignal(int number) {
  auto lock = session.lock();
  if (reporter.isEndDescribed())
    return;
  turn->begin();
  Verdict verdict{session.getProcess(), hostName(), ::getpid(), Verdict::Cause::Interrupted, number, "", {}};
  if (!run.isLaunched()) {
    if (Client *client = session.findClient()) {
      client->reportInterruption(number);
      verdict = client->verdict().value_or(verdict);
    }
    reporter.log.write(RunLog::Level::Warning, verdict.str(), &verdict);
  }
  reporter.describeEnd(session.topology(), /*failed=*/true, std::nullopt, &verdict);
  reporter.writeReport(128 + number);
  if (!session.hasStarted() && !run.isLaunched())
    tellInterruption(run.options.job, run.environment, number);
  if (!run.isLaunched())
    ::_exit(128 + number);
  endBy(number);
}

int RunTermination::endByError(const Error &error, const Verdict *told) {
  auto lock = session.lock();
  turn->begin();
  std::string message = error.what();
  std::optional<Verdict> verdict;
  if (told)
    verdict = *told;
  const std::shared_ptr<Job> &job = session.getJob();
  if (job) {
    job->markFailed();
    Client &client = job->getClient();
    try {
      if (error.getKind() != Error::Kind::Verdict) {
        if (auto *shared = dynamic_cast<const SharedError *>(&error))
          client.reportSharedFailure(message, shared->getCulprit());
        else
          client.reportFailure(message);
        if (session.getProcessCount() > 1)
          client.throwVerdict();
      }
    } catch (const Error &decided) {
      message = decided.what();
    }
    verdict = client.verdict();
  }
  bool isInterrupted = verdict && verdict->cause == Verdict::Cause::Interrupted;
  const Verdict *known = verdict ? &*verdict : nullptr;
  if (!isReaderGone(known))
    reporter.log.write(isInterrupted ? RunLog::Level::Warning : RunLog::Level::Error, message, known);
  reporter.describeEnd(session.topology(), /*failed=*/true, message, known);
  if (isInterrupted)
    return exitStatusOf(*verdict);
  if (!session.hasStarted())
    startFailure = message;
  // Before the job is joined, a usage error is one of the command line.
  return error.getKind() == Error::Kind::Usage && !job ? 2 : 1;
}

void RunTermination::tellStartFailure() {
  if (!startFailure.empty() && run.isMember())
    spmd::tellStartFailure(run.options.job, run.environment, startFailure,
                           [this](const Notice &notice) { reporter.log.write(notice); });
}

} // namespace spmd
