//===- RunReporter.cpp - everything that a run tells ----------------------===//

#include "runtime/runner/RunReporter.h"

#include "runtime/coordinator/ChildReport.h"
#include "runtime/runner/CallTimes.h"
#include "runtime/support/File.h"

namespace spmd {

/// Between two reports of the progress to the launcher: a process that a signal ends sends no other one. A report is a
/// datagram of some microseconds, so even of many processes they cost the launcher less than a thousandth of a core.
constexpr int64_t progressIntervalNs = 20'000'000;

RunReporter::RunReporter(const PreparedRun &run)
    : log(run.request.err, run.request.command, run.options.logFormat), report(run.request.command), profile(run, log),
      run(run), progress(run.request.err, run.request.command) {}

void RunReporter::setProcess(int32_t number, int32_t numProcesses) {
  process = number;
  if (numProcesses > 1)
    log.setProcess(number);
}

void RunReporter::showStep() {
  int64_t step = stepsDone;
  if (int64_t now = steadyNs(); run.isLaunched() && now - lastToldNs >= progressIntervalNs) {
    lastToldNs = now;
    reportToLauncher(run.environment.launcherFd, {.stepsDone = step});
  }
  if (run.options.showProgress && process == 0 && run.options.logFormat != LogFormat::Json)
    progress.show(step, run.options.steps);
}

void RunReporter::tellOnce(const Notice &notice) {
  if (process == 0)
    log.write(notice);
}

void RunReporter::tellOnce(const Notice &notice, int64_t savedStep) {
  tellOnce(notice);
  if (savedStep >= 0)
    reportToLauncher(run.environment.launcherFd, {.savedStep = savedStep});
}

void RunReporter::tellInterruption(const Verdict &verdict) {
  if (process == 0 || !run.isLaunched())
    log.write(RunLog::Level::Info, verdict.str());
}

void RunReporter::describeEnd(const Topology &topology, bool failed, const std::optional<std::string> &message,
                              const Verdict *verdict) {
  hasEnded = true;
  std::optional<int64_t> done;
  if (int64_t steps = stepsDone; run.options.steps > 0 && steps >= 0)
    done = steps;
  if (message)
    report.setError(*message);
  report.describe(topology, process, verdict, failed, done);
  ChildReport last;
  if (verdict && verdict->cause != Verdict::Cause::Interrupted) // The launcher knows of an interruption itself.
    last.verdict = *verdict;
  last.error = message;
  last.stepsDone = done;
  reportToLauncher(run.environment.launcherFd, last);
  profile.finish();
}

int RunReporter::writeReport(int status) {
  if (run.options.reportFile.empty())
    return status;
  try {
    writeFileAtomically(pathOfProcess(run.options.reportFile, run.getGivenProcess()), report.json(status),
                        Readers::Owner);
  } catch (const Error &error) {
    log.write(RunLog::Level::Error, std::string("--report: ") + error.what());
    return status == 0 ? 1 : status;
  }
  return status;
}

} // namespace spmd
