//===- RunProgram.cpp - runs a compiled program for `run` -----------------===//

#include "runtime/runner/RunProgram.h"

#include "runtime/runner/JobSession.h"
#include "runtime/runner/PreparedRun.h"
#include "runtime/runner/ProcessLaunch.h"
#include "runtime/runner/RunReporter.h"
#include "runtime/runner/RunTermination.h"
#include "runtime/runner/StartFailure.h"
#include "runtime/runner/StepLoop.h"
#include "runtime/support/OutOfMemory.h"

#include <csignal>
#include <new>

namespace spmd {
namespace {

/// Owns the parts of a run (RunProgram.h has their order), and turns every end into an exit status.
class Runner {
public:
  Runner(RunOptions options, const RunRequest &request) : prepared(std::move(options), request) {}

  int run() {
    int status = reporter.writeReport(runAndReport());
    termination.tellStartFailure();
    return status;
  }

private:
  int runAndReport() {
    try {
      prepared.readEnvironment(reporter.log);
    } catch (const Error &error) {
      prepared.options.reportFile.clear(); // It may be the file that cannot be written.
      return termination.endByError(error);
    }
    try {
      return loadAndRun();
    } catch (const VerdictError &error) { // The job ended while this process joined.
      return termination.endByError(error, &error.getVerdict());
    } catch (const Error &error) {
      return termination.endByError(error);
    } catch (const std::bad_alloc &) {
      releaseMemoryReserve();
      return termination.endByError(Error(noMemoryText()));
    } catch (const std::exception &error) {
      return termination.endByError(Error(error.what()));
    }
  }

  int loadAndRun() {
    if (prepared.isMember() && !prepared.isLaunched())
      termination.watchSignals();
    std::string messages = prepared.load();
    reporter.log.writeRaw(prepared.artifact ? RunLog::Level::Warning : RunLog::Level::Error, messages);
    if (!prepared.artifact) {
      reporter.report.setError(messages);
      termination.setStartFailure(findError(messages, prepared.request.command));
      return 1;
    }
    if (!prepared.request.note.empty() && prepared.getGivenProcess() == 0)
      reporter.log.write(RunLog::Level::Info, prepared.request.note);
    prepared.check(reporter.log);
    reporter.report.steps = prepared.options.steps;
    if (prepared.startsProcesses())
      return launchProcesses({prepared.options, prepared.request, *prepared.artifact, prepared.environment,
                              reporter.log, reporter.report,
                              [this](std::string_view lines) { return reporter.profile.writeDocument(lines); }});
    joinJob();
    return runInJob();
  }

  void joinJob() {
    reporter.profile.begin();
    JoinOptions join = session.makeJoinOptions(termination.endingUnheeded());
    termination.watchSignals();
    session.join(std::move(join));
    session.announce();
    if (ProfileRecord *profile = reporter.profile.getRecord())
      profile->describe(*session.getJob(), prepared.artifact->plan.mesh);
  }

  int runInJob() {
    loop = std::make_unique<StepLoop>(prepared, session.getJob(), reporter, termination.stopRequest);
    loop->prepare();
    std::optional<Verdict> interruption = loop->run();
    if (interruption) {
      reporter.tellInterruption(*interruption);
    } else {
      loop->writeTimes();
      loop->writeOutputs();
    }
    shutdown();
    termination.end(interruption && !prepared.isLaunched() ? &*interruption : nullptr);
    if (interruption)
      return 128 + SIGTERM;
    return reporter.profile.isLost() ? 1 : 0;
  }

  PreparedRun prepared;
  RunReporter reporter{prepared};
  JobSession session{prepared, reporter};
  RunTermination termination{prepared, session, reporter};
  /// A member, so that an error is reported to the job before its arrays are destroyed.
  std::unique_ptr<StepLoop> loop;
};

} // namespace

int runProgram(RunOptions options, const RunRequest &request) { return Runner(std::move(options), request).run(); }

} // namespace spmd
