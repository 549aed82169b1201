//===- RunProgram.cpp - everything `run` does with an artifact ------------===//

#include "runtime/api/RunProgram.h"

#include "runtime/api/BatchReader.h"
#include "runtime/api/FunctionImpl.h"
#include "runtime/api/Metrics.h"
#include "runtime/api/RunCarry.h"
#include "runtime/api/RunCheckpoints.h"
#include "runtime/api/RunInputs.h"
#include "runtime/api/RunOutputs.h"
#include "runtime/api/RunProfile.h"
#include "runtime/api/RunReport.h"
#include "runtime/api/RunTiming.h"
#include "runtime/api/Runtime.h"
#include "runtime/artifact/ArtifactFile.h"
#include "runtime/checkpoint/CheckpointDirectory.h"
#include "runtime/coordinator/Launcher.h"
#include "runtime/io/NumpyPrinter.h"
#include "runtime/support/File.h"
#include "runtime/support/Process.h"
#include "runtime/support/Token.h"

#include <csignal>
#include <cstring>
#include <sstream>
#include <sys/mman.h>
#include <unistd.h>

namespace spmd {
namespace {

int64_t nowNs() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

std::string meshText(const MeshShape &mesh) {
  std::string text;
  for (const MeshAxis &axis : mesh.axes)
    text += (text.empty() ? "" : ", ") + axis.name + "=" + std::to_string(axis.size);
  return "mesh (" + text + ")";
}

class Runner {
public:
  Runner(RunOptions ownOptions, const RunRequest &request)
      : options(std::move(ownOptions)), request(request), log(request.err, request.command, options.logFormat),
        runReport(request.command) {
    if (options.startedAtNs == 0)
      options.startedAtNs = nowNs();
  }

  int run() {
    int status = runAndReport();
    if (options.reportFile.empty())
      return status;
    try {
      writeFileAtomically(pathOf(options.reportFile), runReport.json(status));
    } catch (const Error &error) {
      log.write(RunLog::Level::Error, std::string("--report: ") + error.what());
      return status == 0 ? 1 : status;
    }
    return status;
  }

private:
  int runAndReport() {
    try {
      environment = Environment::read();
      checkWritable("--report", pathOf(options.reportFile));
      checkWritable("--profile", pathOf(options.profileFile));
    } catch (const Error &error) {
      options.reportFile.clear();
      return report(error);
    }
    try {
      auto began = nowNs();
      std::ostringstream messages;
      artifact = request.load(messages);
      log.writeRaw(artifact ? RunLog::Level::Warning : RunLog::Level::Error, messages.str());
      if (!artifact) {
        runReport.setError(messages.str());
        return 1;
      }
      if (options.compileMs == 0)
        options.compileMs = static_cast<double>(nowNs() - began) * 1e-6;
      checkOptions();
      runReport.steps = options.steps;
      if (startsProcesses())
        return launch();
      int status = runHere();
      describeEnd(/*failed=*/false, std::nullopt, nullptr);
      return status;
    } catch (const VerdictError &error) { // The job ended while it was being joined.
      return report(error, &error.getVerdict());
    } catch (const Error &error) {
      return report(error);
    } catch (const std::exception &error) {
      return report(Error(error.what()));
    }
  }

  /// `{process}` in a name stands for the number of the process: for clusters, whose processes are given the same
  /// options.
  std::string pathOf(std::string path) const {
    int number = options.job.process_id.value_or(environment.processId.value_or(0));
    constexpr std::string_view placeholder = "{process}";
    for (size_t at; (at = path.find(placeholder)) != std::string::npos;)
      path.replace(at, placeholder.size(), std::to_string(number));
    return path;
  }

  /// What is wrong with the command line is said before anything is started, by one process.
  void checkOptions() {
    if (artifact->plan.target.backend != "cpu")
      throw Error("the program is compiled for " + artifact->plan.target.backend + ":" + artifact->plan.target.cpu +
                  ", and this spmdc executes programs on CPUs only; compile it with --target=cpu to run it");
    checkInputs(artifact->plan, options.inputs);
    checkOutputs(artifact->plan, options.outputs);
    carries = findCarries(artifact->plan, options.carries);
    checkBatches();
    if (options.steps < 0)
      throw Error("--steps " + std::to_string(options.steps) + " is negative", Error::Kind::Usage);
    if (!carries.empty() && options.steps == 0)
      throw Error("--carry feeds results back from step to step; give --steps K", Error::Kind::Usage);
    if (options.steps > 0 && options.repeat > 0)
      throw Error("--steps runs a loop and --repeat times the same call; give one of them", Error::Kind::Usage);
    checkCheckpointOptions(options);
    checkRestartOptions();
    if (options.repeat < 0)
      throw Error("--repeat " + std::to_string(options.repeat) + " is negative", Error::Kind::Usage);
  }

  void checkBatches() {
    batchInputs = findBatchInputs(artifact->plan, options.inputs);
    if (batchInputs.empty()) {
      if (options.shuffle)
        throw Error("--shuffle orders the rows of inputs that are fed in batches; give --input NAME=batches:FILE.npy",
                    Error::Kind::Usage);
      if (options.lastBatch != LastBatch::drop)
        throw Error("--last-batch is about inputs that are fed in batches; give --input NAME=batches:FILE.npy",
                    Error::Kind::Usage);
      return;
    }
    const ValueInfo &first = artifact->plan.params[batchInputs[0].first];
    for (const auto &[i, file] : batchInputs) {
      const ValueInfo &param = artifact->plan.params[i];
      if (param.shape.empty())
        throw Error("--input " + param.name + "=batches:" + file + ": parameter '" + param.name +
                        "' is a scalar, which has no rows",
                    Error::Kind::Usage);
      if (param.shape[0] != first.shape[0])
        throw Error("parameters '" + first.name + "' and '" + param.name + "' are fed in batches of " +
                        std::to_string(first.shape[0]) + " and " + std::to_string(param.shape[0]) +
                        " rows; the rows of a batch belong together",
                    Error::Kind::Usage);
      for (const CarriedValue &carry : carries)
        if (carry.parameter == i)
          throw Error("parameter '" + param.name +
                          "' is carried from step to step and fed in batches; give one of them",
                      Error::Kind::Usage);
    }
  }

  /// Opened when the job is joined: what is wrong with a file is told to all.
  void openBatches(const Mesh &mesh) {
    if (batchInputs.empty())
      return;
    std::vector<BatchReader::File> files;
    for (const auto &[i, file] : batchInputs) {
      const ValueInfo &param = artifact->plan.params[i];
      files.push_back({file, NamedSharding(mesh, specOf(param.sharding)), param});
    }
    batches = std::make_unique<BatchReader>(job, std::move(files), artifact->plan.params[batchInputs[0].first].shape[0],
                                            options.shuffle, options.lastBatch);
  }

  /// Puts the batch of a step (from 1) in the parameters' places.
  void feedBatch(int64_t step) {
    if (!batches)
      return;
    std::vector<Array> batch = batches->take(step - 1);
    for (size_t i = 0; i < batch.size(); ++i)
      inputs[batchInputs[i].first] = std::move(batch[i]);
  }

  void checkRestartOptions() const {
    const RestartOptions &restart = options.restart;
    if (restart.count > 0 && isMember())
      throw Error(
          "--restarts is for processes that are started here; in a cluster, let what starts the processes start "
          "them again, with --resume",
          Error::Kind::Usage);
    if (!restart.minProcesses)
      return;
    if (restart.count == 0)
      throw Error("--min-processes says with how few processes a job may be restarted; give --restarts N",
                  Error::Kind::Usage);
    int processes = options.job.num_processes.value_or(1);
    if (*restart.minProcesses > processes)
      throw Error("--min-processes " + std::to_string(*restart.minProcesses) + " is more than --num-processes " +
                      std::to_string(processes),
                  Error::Kind::Usage);
    if (options.job.local_device_ids.get())
      throw Error(
          "--min-processes changes how many devices a process has, and --local-device-ids fixes that; give one of "
          "them",
          Error::Kind::Usage);
  }

  /// One process of a job that others belong to.
  bool isMember() const {
    return options.job.coordinator_address || environment.coordinatorAddress || options.job.process_id ||
           environment.processId;
  }

  /// One process alone is started, too, where somebody must be there after its end.
  bool startsProcesses() const {
    int count = options.job.num_processes.value_or(1);
    return !isMember() &&
           (count > 1 || options.restart.count > 0 || !options.reportFile.empty() || !options.profileFile.empty());
  }

  /// How many devices a process has: as told, or its share of the mesh.
  int devicesPerProcess(int processes) const {
    const MeshShape &mesh = artifact->plan.mesh;
    int64_t count = mesh.deviceCount();
    const auto &ids =
        options.job.local_device_ids.get() ? options.job.local_device_ids.get() : environment.localDeviceIds;
    std::optional<int> told = options.job.devices_per_process;
    if (!told && environment.devicesPerProcess)
      told = *environment.devicesPerProcess;
    if (ids)
      told = static_cast<int>(ids->size());
    std::string has = "the " + meshText(mesh) + " has " + std::to_string(count) + (count == 1 ? " device" : " devices");
    if (!told) {
      if (count % processes != 0)
        throw Error(has + " and " + std::to_string(processes) +
                        " processes cannot share them equally; give --devices-per-process or another number",
                    Error::Kind::Usage);
      return static_cast<int>(count / processes);
    }
    if (startsProcesses() || processes == 1)
      if (static_cast<int64_t>(*told) * processes != count)
        throw Error(has + " and " + std::to_string(processes) + (processes == 1 ? " process" : " processes") +
                        " with " + std::to_string(*told) + (*told == 1 ? " device" : " devices") +
                        (processes == 1 ? "" : " each") + " make " +
                        std::to_string(static_cast<int64_t>(*told) * processes) +
                        "; give --num-processes and --devices-per-process whose product is " + std::to_string(count),
                    Error::Kind::Usage);
    return *told;
  }

  //===--------------------------------------------------------------------===//
  // Starting processes
  //===--------------------------------------------------------------------===//

  /// The artifact in memory that children read through /proc: the program is compiled once, and no file is left
  /// behind.
  UniqueFd shareArtifact() const {
    std::string bytes = encodeArtifact(*artifact);
    UniqueFd fd(memfd_create("spmd-artifact", MFD_CLOEXEC));
    size_t written = 0;
    while (fd && written < bytes.size()) {
      ssize_t count = write(fd.get(), bytes.data() + written, bytes.size() - written);
      if (count <= 0)
        break;
      written += static_cast<size_t>(count);
    }
    if (written < bytes.size())
      throw Error("there is not enough memory to hand the program to its processes");
    return fd;
  }

  int launch() {
    UniqueFd shared = shareArtifact(), profile;
    RunOptions current = options;
    if (!options.profileFile.empty()) {
      profile = UniqueFd(memfd_create("spmd-profile", MFD_CLOEXEC));
      if (!profile)
        throw Error(std::string("there is no memory for the profile: ") + std::strerror(errno));
      current.profilePart = "/proc/" + std::to_string(getpid()) + "/fd/" + std::to_string(profile.get());
    }
    LaunchOptions launchOptions;
    launchOptions.numProcesses = options.job.num_processes.value_or(1);
    auto fill = [&](LaunchOptions &launch) {
      launch.environment.clear();
      current.job.num_processes = launch.numProcesses;
      int devices = static_cast<int>(artifact->plan.mesh.deviceCount() / launch.numProcesses);
      if (launch.numProcesses == options.job.num_processes.value_or(1))
        devices = devicesPerProcess(launch.numProcesses);
      if (!options.job.local_device_ids.get())
        launch.environment = {{"SPMD_DEVICES_PER_PROCESS", std::to_string(devices)}};
      launch.command =
          request.childCommand(current, "/proc/" + std::to_string(getpid()) + "/fd/" + std::to_string(shared.get()));
    };
    fill(launchOptions);
    if (!options.checkpointDirectory.empty())
      launchOptions.terminationTime = std::chrono::hours(24); // Who is in a hurry sends it twice.
    if (options.verbose)
      launchOptions.started = [&](const std::vector<pid_t> &pids, const std::string &address) {
        log.writeStarted(pids, address);
      };
    launchOptions.statusToken = findStatusToken(environment, options.job.token_file.value_or(""));
    RestartOptions restart = options.restart;
    restart.fit = [&](int32_t most) {
      while (most > 0 && artifact->plan.mesh.deviceCount() % most != 0)
        --most;
      return most;
    };
    // Who asked for the newest checkpoint gets the newest again. Otherwise the folder may hold another run's: what this
    // one has saved counts.
    LaunchResult result = launchWithRestarts(
        launchOptions, restart, log, runReport, [&](LaunchOptions &launch, const LaunchResult &ended) {
          std::optional<int64_t> saved;
          for (const ChildReport &told : ended.reports)
            saved = std::max(saved, told.savedStep);
          if (saved && options.resume != -1)
            current.resume = saved;
          fill(launch);
          if (options.resume == -1 && !saved)
            if (std::vector<int64_t> steps = findCheckpoints(options.checkpointDirectory); !steps.empty())
              return std::optional(steps.back());
          return options.resume == -1 ? saved : current.resume;
        });
    if (profile)
      writeProfile(MappedFile(current.profilePart).bytes());
    if (result.culprit && result.culprit->signal != 0 && result.interruptedBy == 0)
      log.write(RunLog::Level::Error, result.culprit->str(), result.verdict());
    return result.exitStatus();
  }

  //===--------------------------------------------------------------------===//
  // Being a process
  //===--------------------------------------------------------------------===//

  JoinOptions joinOptions() {
    int processes = options.job.num_processes.value_or(environment.numProcesses.value_or(1));
    int devices = devicesPerProcess(std::max(processes, 1));
    JoinOptions join = resolveJoinOptions(options.job, environment, devices);
    numProcesses = join.numProcesses;
    process = join.processId;
    if (numProcesses > 1)
      log.setProcess(process);
    join.columns = request.columns;
    join.columns.push_back({"mesh", meshText(artifact->plan.mesh)});
    join.columns.push_back({"entry function", artifact->plan.name});
    join.columns.push_back({"target", artifact->plan.target.backend + ":" + artifact->plan.target.cpu});
    join.columns.push_back({"--repeat", std::to_string(options.repeat)});
    join.columns.push_back({"--steps", std::to_string(options.steps)});
    std::string carried;
    for (const std::string &name : options.carries)
      carried += (carried.empty() ? "" : ",") + name;
    join.columns.push_back({"--carry", carried});
    join.columns.push_back({"--checkpoint-dir", options.checkpointDirectory});
    join.columns.push_back({"--checkpoint-every", std::to_string(options.checkpointEvery)});
    join.columns.push_back({"--resume", options.resume ? std::to_string(*options.resume) : "no"});
    std::string results = options.print ? "--print\n" : "";
    results += options.printShards ? "--print-shards\n" : "";
    for (const std::string &output : options.outputs)
      results += "--output " + output.substr(0, output.find('=')) + "\n";
    join.columns.push_back({"results asked for", results});
    std::string files;
    for (const auto &[i, file] : batchInputs)
      files += artifact->plan.params[i].name + " ";
    join.columns.push_back({"inputs in batches", files});
    join.columns.push_back({"--shuffle", options.shuffle ? std::to_string(*options.shuffle) : "no"});
    join.columns.push_back({"--last-batch", options.lastBatch == LastBatch::wrap ? "wrap" : "drop"});
    join.columns.push_back({"--check-nans", options.checkNans ? "yes" : "no"});
    join.columns.push_back({"--profile", profileLog ? "yes" : "no"});
    join.programDigest = fingerprint(*artifact);
    join.notice = [this](const Notice &notice) { log.write(notice); };
    return join;
  }

  int runHere() {
    if (!options.profileFile.empty() || !options.profilePart.empty())
      profileLog = std::make_unique<ProfileLog>();
    initializeRuntime(joinOptions(), std::source_location::current());
    job = currentJob(std::source_location::current());
    serveMetrics();
    describeScene();
    const Plan &plan = artifact->plan;
    Mesh mesh = meshForProgram(plan.mesh, std::nullopt, std::source_location::current());
    inputs = makeInputs(job, plan, mesh, options.inputs);
    openBatches(mesh);
    ProgramOptions programOptions;
    programOptions.print = [this](const std::vector<std::string> &texts, const std::vector<HostView> &values) {
      std::string line = texts.empty() ? "" : texts[0];
      for (size_t i = 0; i < values.size(); ++i)
        line += numpyText(values[i].dtype, values[i].shape, values[i].data) + texts[i + 1];
      request.out << line << std::flush;
    };
    programOptions.checkNans = options.checkNans;
    programOptions.profileLog = profileLog.get();
    program = std::make_unique<Program>(job, artifact, mesh, std::move(programOptions));
    if (profileLog && program->getExecutor()) {
      scene.devices = mesh.device_ids();
      for (const DeviceRef &device : program->getExecutor()->getLocalDevices())
        scene.localDevices.push_back(device->getId());
      scene.steps = program->getExecutor()->getStepInfo();
    }
    RunCheckpoints checkpoints(options, carries, job, plan, [this](const Notice &notice, int64_t savedStep) {
      if (process == 0)
        log.write(notice);
      if (savedStep >= 0)
        tellLauncher(environment.launcherFd, {.savedStep = savedStep});
    });
    int64_t done = checkpoints.resume(inputs, needsResults());
    countStep(done);
    if (done == 0 || done < options.steps)
      feedBatch(done + 1);
    if (done == 0 || done < options.steps)
      results = callAndWait();
    else
      takeCarriedResults();
    double firstResultMs = static_cast<double>(nowNs() - options.startedAtNs) * 1e-6;
    std::vector<double> durations;
    for (int64_t step = done + 1; step <= options.steps; ++step) {
      if (step > done + 1) {
        carryOver(carries, results, inputs);
        results.clear(); // What is not carried leaves its memory to the next step.
        feedBatch(step);
        int64_t began = nowNs();
        results = callAndWait();
        durations.push_back(static_cast<double>(nowNs() - began) * 1e-3);
      }
      countStep(step);
      checkpoints.afterStep(step, results);
      tellProgress();
      showProgress(step);
      if (checkpoints.stopsAfter(step, results)) {
        shutdown();
        return 128 + SIGTERM;
      }
    }
    checkpoints.finish();
    for (int i = 0; i < options.repeat; ++i) {
      results.clear(); // Their memory is taken again.
      int64_t began = nowNs();
      results = callAndWait();
      durations.push_back(static_cast<double>(nowNs() - began) * 1e-3);
    }
    reportTimes(firstResultMs, std::move(durations));
    writeResults(job, plan, results, options.outputs, options.print, request.out);
    if (options.printShards)
      printShards(job, results, request.out);
    shutdown();
    return 0;
  }

  /// What the trace needs beside its events. Only hosts have clocks of their own.
  void describeScene() {
    if (!profileLog)
      return;
    const Topology &topology = job->getClient().topology();
    scene.process = process;
    scene.host = topology.processes[static_cast<size_t>(process)].host;
    scene.pid = getpid();
    scene.mesh = artifact->plan.mesh;
    std::vector<int32_t> others;
    for (const ProcessInfo &info : topology.processes)
      if (job->hostOf(info.index) != job->hostOf(0))
        others.push_back(info.index);
    scene.clock = measureClockOffset(job->getClient(), process, others, nowNs, job->getTimeout());
  }

  /// This process's part; to the launcher, or to a file of its own.
  void finishProfile() {
    if (!profileLog || scene.devices.empty())
      return;
    auto [runs, dropped] = profileLog->take();
    if (dropped > 0)
      log.write(RunLog::Level::Warning, "--profile: the trace holds the first events only, and " +
                                            std::to_string(dropped) + " more were dropped; give fewer steps");
    std::string lines = profileLines(scene, runs, dropped);
    if (options.profilePart.empty())
      return writeProfile(lines);
    try {
      appendProfile(options.profilePart, lines);
    } catch (const Error &error) {
      log.write(RunLog::Level::Warning, std::string("--profile: ") + error.what());
    }
  }

  void writeProfile(std::string_view lines) {
    try {
      writeFileAtomically(pathOf(options.profileFile), profileDocument(lines));
    } catch (const Error &error) {
      log.write(RunLog::Level::Error, std::string("--profile: ") + error.what());
    }
  }

  /// Process 0 has the figures of all.
  void serveMetrics() {
    if (!options.metricsPort || process != 0)
      return;
    metrics =
        std::make_unique<MetricsServer>(*options.metricsPort, [job = job.get()] { return job->getClient().status(); });
    log.write(RunLog::Level::Info, "metrics at http://127.0.0.1:" + std::to_string(metrics->getPort()) + "/metrics");
  }

  /// Whether results are wanted that are not among what is carried.
  bool needsResults() const {
    std::vector<bool> isCarried(artifact->plan.results.size());
    for (const CarriedValue &carry : carries)
      isCarried[carry.result] = true;
    for (size_t i : wantedResults(artifact->plan, options.outputs, options.print || options.printShards))
      if (!isCarried[i])
        return true;
    return false;
  }

  /// Of a loop whose last step was done by an earlier job.
  void takeCarriedResults() {
    results.resize(artifact->plan.results.size());
    for (const CarriedValue &carry : carries)
      results[carry.result] = inputs[carry.parameter];
  }

  std::vector<Array> callAndWait() {
    std::vector<Array> values = program->call(inputs);
    for (const Array &value : values)
      value.block_until_ready();
    return values;
  }

  void countStep(int64_t step) {
    stepsDone = step;
    if (options.steps > 0)
      job->countStep(step, options.steps);
  }

  /// A few times a second, so that the launcher knows how far a process had come that was killed.
  void tellProgress() {
    if (!environment.launcherFd || nowNs() - lastToldNs < 200'000'000)
      return;
    lastToldNs = nowNs();
    tellLauncher(environment.launcherFd, {.stepsDone = stepsDone});
  }

  /// At most ten times a second; the last one leaves the line empty.
  void showProgress(int64_t step) {
    if (!options.showProgress || process != 0 || options.logFormat == LogFormat::Json)
      return;
    bool isLast = step == options.steps;
    if (!isLast && nowNs() - lastProgressNs < 100'000'000)
      return;
    lastProgressNs = nowNs();
    request.err << "\r\033[K";
    if (!isLast)
      request.err << request.command << ": step " << step << " of " << options.steps;
    request.err << std::flush;
  }

  void reportTimes(double firstResultMs, std::vector<double> durations) {
    if (options.repeat == 0 && options.timeJson.empty())
      return;
    RunTimes times = slowestTimes(*job, firstResultMs, std::move(durations));
    if (process != 0)
      return;
    times.compileMs = options.compileMs;
    if (!options.timeJson.empty())
      writeFileAtomically(options.timeJson, times.json());
    if (options.repeat > 0 && options.timeJson.empty())
      log.write(RunLog::Level::Info, "time: " + times.text());
  }

  //===--------------------------------------------------------------------===//
  // Messages
  //===--------------------------------------------------------------------===//

  /// Prints the root cause, which is the same on all processes.
  int report(const Error &error, const Verdict *told = nullptr) {
    std::string message = error.what();
    std::optional<Verdict> verdict;
    if (told)
      verdict = *told;
    if (job) {
      job->markFailed();
      Client &client = job->getClient();
      try {
        if (error.getKind() != Error::Kind::Verdict) {
          client.reportFailure(message);
          if (numProcesses > 1)
            client.throwVerdict();
        }
      } catch (const Error &decided) {
        message = decided.what();
      }
      verdict = client.verdict();
    }
    log.write(RunLog::Level::Error, message, verdict ? &*verdict : nullptr);
    describeEnd(/*failed=*/true, message, verdict ? &*verdict : nullptr);
    // Before a job is joined, what the caller gave is to blame.
    return error.getKind() == Error::Kind::Usage && !job ? 2 : 1;
  }

  /// For this process's own report, and for the launcher's.
  void describeEnd(bool failed, std::optional<std::string> message, const Verdict *verdict) {
    std::optional<int64_t> done;
    if (options.steps > 0 && stepsDone >= 0)
      done = stepsDone;
    if (message)
      runReport.setError(*message);
    runReport.describe(job ? job->getClient().topology() : Topology(), process, verdict, failed, done);
    ChildReport last;
    if (verdict)
      last.verdict = *verdict;
    last.error = std::move(message);
    last.stepsDone = done;
    tellLauncher(environment.launcherFd, last);
    finishProfile();
  }

  RunOptions options;
  const RunRequest &request;
  RunLog log;
  RunReport runReport;
  Environment environment;
  std::shared_ptr<const Artifact> artifact;
  // Members, so that an error is reported to the job before anything is taken apart.
  std::shared_ptr<Job> job;
  std::unique_ptr<MetricsServer> metrics;
  std::unique_ptr<ProfileLog> profileLog; ///< Null: no trace is asked for.
  ProfileScene scene;
  std::unique_ptr<Program> program;
  std::vector<std::pair<size_t, std::string>> batchInputs; ///< Parameters and their files.
  std::unique_ptr<BatchReader> batches;
  std::vector<Array> inputs, results;
  std::vector<CarriedValue> carries;
  int64_t lastProgressNs = 0, lastToldNs = 0;
  int64_t stepsDone = -1; ///< Of the loop of steps; -1: it has not begun.
  int numProcesses = 1, process = 0;
};

} // namespace

int runProgram(RunOptions options, const RunRequest &request) { return Runner(std::move(options), request).run(); }

} // namespace spmd
