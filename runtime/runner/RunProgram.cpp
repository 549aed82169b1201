//===- RunProgram.cpp - runs a compiled program for `run` -----------------===//

#include "runtime/runner/RunProgram.h"

#include "runtime/api/FunctionImpl.h"
#include "runtime/api/ReplicatedInputs.h"
#include "runtime/api/Runtime.h"
#include "runtime/artifact/ArtifactFile.h"
#include "runtime/checkpoint/CheckpointDirectory.h"
#include "runtime/coordinator/Launcher.h"
#include "runtime/io/NumpyPrinter.h"
#include "runtime/runner/CallTimes.h"
#include "runtime/runner/EndingThread.h"
#include "runtime/runner/Inputs.h"
#include "runtime/runner/JoinColumns.h"
#include "runtime/runner/Metrics.h"
#include "runtime/runner/OptionChecks.h"
#include "runtime/runner/Outputs.h"
#include "runtime/runner/ProcessLaunch.h"
#include "runtime/runner/ProfileRecord.h"
#include "runtime/runner/RunBatches.h"
#include "runtime/runner/RunCheckpoints.h"
#include "runtime/runner/RunReport.h"
#include "runtime/runner/StartFailure.h"
#include "runtime/runner/StopRequest.h"
#include "runtime/support/File.h"
#include "runtime/support/OutOfMemory.h"
#include "runtime/support/Process.h"
#include "runtime/support/ProgressLine.h"
#include "runtime/support/SignalWatch.h"
#include "runtime/support/Token.h"

#include <atomic>
#include <csignal>
#include <cstring>
#include <mutex>
#include <sstream>
#include <sys/mman.h>
#include <unistd.h>

namespace spmd {
namespace {

int64_t nowNs() { return std::chrono::nanoseconds(std::chrono::steady_clock::now().time_since_epoch()).count(); }

class Runner {
public:
  Runner(RunOptions ownOptions, const RunRequest &request)
      : options(std::move(ownOptions)), request(request), log(request.err, request.command, options.logFormat),
        runReport(request.command) {
    if (options.startedAtNs == 0)
      options.startedAtNs = nowNs();
  }

  int run() {
    int status = writeReport(runAndReport());
    if (!failureToStart.empty() && isMember())
      tellStartFailure(options.job, environment, failureToStart, [this](const Notice &notice) { log.write(notice); });
    return status;
  }

private:
  /// Returns the exit status of the process.
  int writeReport(int status) {
    if (options.reportFile.empty())
      return status;
    try {
      writeFileAtomically(pathOfProcess(options.reportFile, getGivenProcess()), runReport.json(status), Readers::Owner);
    } catch (const Error &error) {
      log.write(RunLog::Level::Error, std::string("--report: ") + error.what());
      return status == 0 ? 1 : status;
    }
    return status;
  }

  int runAndReport() {
    try {
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
    } catch (const Error &error) {
      options.reportFile.clear();
      return report(error);
    }
    try {
      if (isMember() && !environment.launcherFd)
        watchSignals();
      auto began = nowNs();
      std::ostringstream messages;
      artifact = request.load(messages);
      log.writeRaw(artifact ? RunLog::Level::Warning : RunLog::Level::Error, messages.str());
      if (!artifact) {
        runReport.setError(messages.str());
        failureToStart = findError(messages.str(), request.command);
        return 1;
      }
      if (!request.note.empty() && getGivenProcess() == 0)
        log.write(RunLog::Level::Info, request.note);
      if (options.compileMs == 0)
        options.compileMs = static_cast<double>(nowNs() - began) * 1e-6;
      checked = checkRunOptions(options, artifact->plan, isMember());
      if (std::string warning = loopWarning(options, checked);
          !warning.empty() && !environment.launcherFd && getGivenProcess() == 0)
        log.write(RunLog::Level::Warning, warning);
      runReport.steps = options.steps;
      if (startsProcesses())
        return launchProcesses({options, request, *artifact, environment, log, runReport,
                                [this](std::string_view lines) { return writeProfile(lines); }});
      int status = runHere();
      std::lock_guard lock(ending);
      describeEnd(topology(), /*failed=*/false, std::nullopt, interruption ? &*interruption : nullptr);
      return status == 0 && isProfileLost ? 1 : status;
    } catch (const VerdictError &error) { // The job ended while this process joined.
      return report(error, &error.getVerdict());
    } catch (const Error &error) {
      return report(error);
    } catch (const std::bad_alloc &) {
      releaseMemoryReserve();
      return report(Error(noMemoryText()));
    } catch (const std::exception &error) {
      return report(Error(error.what()));
    }
  }

  /// Returns the id that options or environment give this process, before the job is joined.
  int getGivenProcess() const { return options.job.process_id.value_or(environment.processId.value_or(0)); }

  /// Compares inputs with those of other processes: devices that hold the same part must have the same values.
  void compareInputs(const Mesh &mesh) {
    std::vector<std::string> files = inputFiles(artifact->plan, options.inputs);
    std::vector<ReadInput> read;
    for (size_t i = 0; i < files.size(); ++i)
      read.push_back({&inputs[i], files[i]});
    checkReplicatedInputs(*job, mesh, read, batches->rowCount());
  }

  /// Returns whether this is one process of a job with several.
  bool isMember() const {
    return options.job.coordinator_address || environment.coordinatorAddress || options.job.process_id ||
           environment.processId;
  }

  /// Returns whether to start processes. Restarts, reports and profiles need a launcher that outlives the process, even
  /// for one process.
  bool startsProcesses() const {
    int count = options.job.num_processes.value_or(1);
    return !isMember() &&
           (count > 1 || options.restart.count > 0 || !options.reportFile.empty() || !options.profileFile.empty());
  }

  //===--------------------------------------------------------------------===//
  // Running as one process of the job
  //===--------------------------------------------------------------------===//

  JoinOptions joinOptions() {
    int processes = options.job.num_processes.value_or(environment.numProcesses.value_or(1));
    int devices =
        devicesPerProcess(options, environment, artifact->plan.mesh, std::max(processes, 1), startsProcesses());
    JoinOptions join = resolveJoinOptions(options.job, environment, devices);
    join.backend = artifact->plan.target.backend;
    numProcesses = join.numProcesses;
    process = join.processId;
    if (numProcesses > 1)
      log.setProcess(process);
    join.columns = request.columns;
    for (JoinColumn &column : columnsOf(options, artifact->plan, profile != nullptr))
      join.columns.push_back(std::move(column));
    join.programDigest = fingerprint(*artifact);
    join.programDetails = [this] {
      std::vector<JoinColumn> details;
      if (request.programDetails)
        details = request.programDetails();
      for (JoinColumn &detail : detailsOf(*artifact))
        details.push_back(std::move(detail));
      return details;
    };
    join.notice = [this](const Notice &notice) { log.write(notice); };
    join.joining = [this](Client *client) {
      std::lock_guard lock(ending);
      joining = client;
    };
    join.unheeded = [this, end = end](const Topology &topology, const Verdict &verdict) {
      end->endInstead(exitStatusOf(verdict), [&] {
        log.write(RunLog::Level::Error, verdict.str(), &verdict);
        describeEnd(topology, /*failed=*/true, verdict.str(), &verdict);
        writeReport(exitStatusOf(verdict));
      });
    };
    return join;
  }

  int runHere() {
    if (!options.profileFile.empty() || !options.profilePart.empty())
      profile = std::make_unique<ProfileRecord>(options.profilePart);
    JoinOptions join = joinOptions();
    if (!signals)
      watchSignals();
    hasStarted = true;
    initializeRuntime(std::move(join), std::source_location::current());
    {
      std::lock_guard lock(ending);
      job = currentJob(std::source_location::current());
    }
    serveMetrics();
    if (!environment.launcherFd)
      if (std::string warning = sharedFileWarning(options, job->getClient().topology(), process); !warning.empty())
        log.write(RunLog::Level::Warning, warning);
    if (profile)
      profile->describe(*job, artifact->plan.mesh);
    const Plan &plan = artifact->plan;
    checkJobDevices(job->getClient().topology(), plan.mesh);
    Mesh mesh = meshForProgram(plan.mesh, std::nullopt, std::source_location::current());
    if (process == 0)
      checkOutputFolders(plan, options.outputs);
    inputs = makeInputs(job, plan, mesh, options.inputs, [this](const std::string &warning) {
      if (process == 0)
        log.write(RunLog::Level::Warning, warning);
    });
    batches = std::make_unique<RunBatches>(job, plan, mesh, checked, options);
    compareInputs(mesh);
    ProgramOptions programOptions;
    programOptions.print = [this](const std::vector<std::string> &texts, const std::vector<HostView> &values) {
      std::string line = texts.empty() ? "" : texts[0];
      for (size_t i = 0; i < values.size(); ++i)
        line += numpyText(values[i].dtype, values[i].shape, values[i].data) + texts[i + 1];
      writeText(request.out, line);
    };
    programOptions.checkNans = programOptions.nansEndJob = options.checkNans;
    programOptions.profileLog = profile ? &profile->log : nullptr;
    program = std::make_unique<Program>(job, artifact, mesh, std::move(programOptions));
    if (profile && program->getExecutor())
      profile->describe(*program->getExecutor(), mesh);
    auto say = [this](const Notice &notice, int64_t savedStep) {
      if (process == 0)
        log.write(notice);
      if (savedStep >= 0)
        reportToLauncher(environment.launcherFd, {.savedStep = savedStep});
    };
    RunCheckpoints checkpoints(options, checked.carries, job, plan, stopRequest, say);
    checkpoints.beforeSave = [this] { batches->compare(); };
    int64_t done = checkpoints.resume(inputs, needsResults(plan, options, checked.carries));
    countStep(done);
    if (done == 0 || done < options.steps)
      batches->feed(done + 1, inputs);
    std::vector<double> first, durations; // In microseconds.
    if (done == 0 || done < options.steps)
      results = callAndWait(first);
    else
      results = takeCarried(checked.carries, inputs, plan.results.size());
    double firstResultMs = static_cast<double>(nowNs() - options.startedAtNs) * 1e-6;
    for (int64_t step = done + 1; step <= options.steps; ++step) {
      if (step > done + 1) {
        carryOver(checked.carries, results, inputs);
        results.clear(); // Releases results that are not carried before the next step.
        batches->feed(step, inputs);
        results = callAndWait(durations);
      }
      countStep(step);
      checkpoints.afterStep(step, results);
      tellProgress();
      showProgress(step);
      if (checkpoints.stopsAfter(step, results)) {
        sayInterrupted(checkpoints.getInterruption());
        shutdown();
        return 128 + SIGTERM;
      }
    }
    batches->compare();
    checkpoints.finish();
    stopRequest.heed(false);
    for (int i = 0; i < options.repeat; ++i) {
      results.clear(); // Releases their memory before the next call.
      results = callAndWait(durations);
    }
    if (options.repeat > 0 || !options.timeJson.empty()) {
      // The first call warms caches up, and counts only if there is no other.
      RunTimes times = slowestTimes(*job, firstResultMs, std::move(durations.empty() ? first : durations));
      times.compileMs = options.compileMs;
      if (process == 0 && !options.timeJson.empty())
        writeFileAtomically(options.timeJson, times.json());
      else if (process == 0)
        log.write(RunLog::Level::Info, "time: " + times.text());
    }
    writeResults(job, plan, results, options.outputs, options.print, request.out);
    if (options.printShards)
      printShards(job, results, request.out);
    shutdown();
    return 0;
  }

  /// Writes this process's part of the profile: to the launcher, or to a file of its own.
  void finishProfile() {
    try {
      auto [lines, dropped] = profile ? profile->take() : ProfileRecord::Lines();
      if (lines.empty())
        return;
      if (dropped > 0)
        log.write(RunLog::Level::Warning, "--profile: the trace has only the first events; " + std::to_string(dropped) +
                                              " more were dropped; give fewer steps");
      if (!options.profilePart.empty())
        return appendProfile(options.profilePart, lines);
      writeProfile(lines);
    } catch (const Error &error) {
      log.write(RunLog::Level::Warning, std::string("--profile: ") + error.what());
    }
  }

  /// Returns false, after a message, if the profile cannot be written.
  bool writeProfile(std::string_view lines) {
    try {
      writeFileAtomically(pathOfProcess(options.profileFile, getGivenProcess()), profileDocument(lines),
                          Readers::Owner);
      return true;
    } catch (const Error &error) {
      log.write(RunLog::Level::Error, std::string("--profile: ") + error.what());
      isProfileLost = true;
      return false;
    }
  }

  /// Serves the metrics on process 0, which has the statistics of all.
  void serveMetrics() {
    if (!options.metricsPort || process != 0)
      return;
    metrics =
        std::make_unique<MetricsServer>(*options.metricsPort, [job = job.get()] { return job->getClient().status(); });
    log.write(RunLog::Level::Info, "metrics at http://" + metrics->getAddress() + "/metrics");
  }

  /// Calls the program and waits; appends the duration in microseconds.
  std::vector<Array> callAndWait(std::vector<double> &durations) {
    int64_t began = nowNs();
    std::vector<Array> values = program->call(inputs);
    for (const Array &value : values)
      value.block_until_ready();
    job->finishLaunches(); // Waits for programs without results, too.
    durations.push_back(static_cast<double>(nowNs() - began) * 1e-3);
    return values;
  }

  void countStep(int64_t step) {
    stepsDone = step;
    if (options.steps > 0)
      job->countStep(step, options.steps);
  }

  /// Reports the step a few times a second, so that the launcher knows the progress of a process that is killed.
  void tellProgress() {
    if (!environment.launcherFd || nowNs() - lastToldNs < 200'000'000)
      return;
    lastToldNs = nowNs();
    reportToLauncher(environment.launcherFd, {.stepsDone = stepsDone.load()});
  }

  void showProgress(int64_t step) {
    if (options.showProgress && process == 0 && options.logFormat != LogFormat::Json)
      progress.show(step, options.steps);
  }

  //===--------------------------------------------------------------------===//
  // Messages
  //===--------------------------------------------------------------------===//

  /// Reports that all processes have saved. For processes started by `run`, only process 0 reports, and the launcher
  /// reports the rest.
  void sayInterrupted(const Verdict &verdict) {
    if (process == 0 || !environment.launcherFd)
      log.write(RunLog::Level::Info, verdict.str());
    if (!environment.launcherFd)
      interruption = verdict;
  }

  /// Watches signals. The first to end the run, the program or this thread of signals, writes the report.
  void watchSignals() {
    bool isLaunched = environment.launcherFd.has_value();
    std::vector<int> numbers;
    if (isMember() && (!isLaunched || profile || !options.reportFile.empty()))
      numbers = {SIGINT, SIGHUP};
    if (!numbers.empty() || !options.checkpointDirectory.empty())
      numbers.push_back(SIGTERM);
    if (!numbers.empty())
      signals = std::make_unique<SignalWatch>(numbers, [this](int number) {
        if (number != SIGTERM || !stopRequest.make())
          endBySignal(number);
      });
  }

  /// Writes report and profile even if the program itself cannot be interrupted. If `run` started the processes, the
  /// launcher signals all of them; in a cluster this process informs the others.
  void endBySignal(int number) {
    std::lock_guard lock(ending);
    if (hasEnded)
      return;
    end->begin();
    Verdict verdict{
        hasStarted ? process : getGivenProcess(), hostName(), ::getpid(), Verdict::Cause::Interrupted, number, "", {}};
    if (!environment.launcherFd) {
      if (Client *client = job ? &job->getClient() : joining) {
        client->reportInterruption(number);
        verdict = client->verdict().value_or(verdict);
      }
      log.write(RunLog::Level::Warning, verdict.str(), &verdict);
    }
    describeEnd(topology(), /*failed=*/true, std::nullopt, &verdict);
    writeReport(128 + number);
    if (!hasStarted && !environment.launcherFd)
      tellInterruption(options.job, environment, number);
    if (!environment.launcherFd)
      ::_exit(128 + number);
    endBy(number);
  }

  /// Prints the root cause, which is the same on all processes. Returns the exit status.
  int report(const Error &error, const Verdict *told = nullptr) {
    std::lock_guard lock(ending);
    end->begin();
    std::string message = error.what();
    std::optional<Verdict> verdict;
    if (told)
      verdict = *told;
    if (job) {
      job->markFailed();
      Client &client = job->getClient();
      try {
        if (error.getKind() != Error::Kind::Verdict) {
          if (auto *shared = dynamic_cast<const SharedError *>(&error))
            client.reportSharedFailure(message, shared->getCulprit());
          else
            client.reportFailure(message);
          if (numProcesses > 1)
            client.throwVerdict();
        }
      } catch (const Error &decided) {
        message = decided.what();
      }
      verdict = client.verdict();
    }
    bool isInterrupted = verdict && verdict->cause == Verdict::Cause::Interrupted;
    log.write(isInterrupted ? RunLog::Level::Warning : RunLog::Level::Error, message, verdict ? &*verdict : nullptr);
    describeEnd(topology(), /*failed=*/true, message, verdict ? &*verdict : nullptr);
    if (isInterrupted)
      return exitStatusOf(*verdict);
    if (!hasStarted)
      failureToStart = message;
    // Before the job is joined, a usage error is one of the command line.
    return error.getKind() == Error::Kind::Usage && !job ? 2 : 1;
  }

  static int exitStatusOf(const Verdict &verdict) {
    return verdict.cause == Verdict::Cause::Interrupted ? 128 + static_cast<int>(verdict.detail) : 1;
  }

  /// Empty before the job is joined.
  Topology topology() const { return job ? job->getClient().topology() : Topology(); }

  /// Records the end for this process's own report, and for the launcher's.
  void describeEnd(const Topology &topology, bool failed, std::optional<std::string> message, const Verdict *verdict) {
    hasEnded = true;
    std::optional<int64_t> done;
    if (int64_t steps = stepsDone; options.steps > 0 && steps >= 0)
      done = steps;
    if (message)
      runReport.setError(*message);
    runReport.describe(topology, process, verdict, failed, done);
    ChildReport last;
    if (verdict && verdict->cause != Verdict::Cause::Interrupted) // The launcher knows of an interruption itself.
      last.verdict = *verdict;
    last.error = std::move(message);
    last.stepsDone = done;
    reportToLauncher(environment.launcherFd, last);
    finishProfile();
  }

  RunOptions options;
  const RunRequest &request;
  RunLog log;
  RunReport runReport;
  Environment environment;
  std::shared_ptr<const Artifact> artifact;
  CheckedRun checked;
  /// Shared with the client, which may outlive this object.
  std::shared_ptr<EndingThread> end = std::make_shared<EndingThread>();
  // Members, so that an error is reported to the job before anything is destroyed.
  std::shared_ptr<Job> job;
  Client *joining = nullptr; ///< Before there is a job.
  std::unique_ptr<MetricsServer> metrics;
  std::unique_ptr<ProfileRecord> profile; ///< Null: the user asked for no trace.
  bool isProfileLost = false;
  std::unique_ptr<Program> program;
  std::unique_ptr<RunBatches> batches;
  std::vector<Array> inputs, results;
  ProgressLine progress{request.err, request.command};
  int64_t lastToldNs = 0;
  std::atomic<int64_t> stepsDone{-1}; ///< Steps of the loop of steps; -1: it has not begun.
  int numProcesses = 1, process = 0;
  /// Set when the job is joined: from then on the others learn of a failure from the job.
  std::atomic<bool> hasStarted{false};
  std::string failureToStart;          ///< The error that ended the process before that.
  std::optional<Verdict> interruption; ///< The verdict if all processes ended because one was asked to.
  StopRequest stopRequest;
  std::mutex ending; ///< Held by the thread that ends the run; guards what the end needs.
  std::atomic<bool> hasEnded{false};
  std::unique_ptr<SignalWatch> signals;
};

} // namespace

int runProgram(RunOptions options, const RunRequest &request) { return Runner(std::move(options), request).run(); }

} // namespace spmd
