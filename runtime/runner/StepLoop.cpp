//===- StepLoop.cpp - the calls of a run ----------------------------------===//

#include "runtime/runner/StepLoop.h"

#include "runtime/api/ReplicatedInputs.h"
#include "runtime/io/NumpyPrinter.h"
#include "runtime/runner/Inputs.h"
#include "runtime/runner/OptionChecks.h"
#include "runtime/runner/Outputs.h"
#include "runtime/support/File.h"

#include <source_location>

namespace spmd {

StepLoop::StepLoop(const PreparedRun &run, std::shared_ptr<Job> job, RunReporter &reporter, StopRequest &stop)
    : setup(run), options(run.options), plan(run.artifact->plan), carries(run.checked.carries), job(std::move(job)),
      reporter(reporter), stop(stop) {}

void StepLoop::prepare() {
  checkJobDevices(job->getClient().topology(), plan.mesh);
  Mesh mesh = meshForProgram(plan.mesh, std::nullopt, std::source_location::current());
  if (job->getProcess() == 0)
    checkOutputFolders(plan, options.outputs);
  inputs = makeInputs(job, plan, mesh, options.inputs,
                      [this](const std::string &warning) { reporter.tellOnce({Notice::Level::Warning, warning}); });
  batches = std::make_unique<RunBatches>(job, plan, mesh, setup.checked, options);
  compareInputs(mesh);
  loadProgram(mesh);
}

/// Compares inputs with those of other processes: devices that hold the same part must have the same values.
void StepLoop::compareInputs(const Mesh &mesh) {
  std::vector<std::string> files = inputFiles(plan, options.inputs);
  std::vector<ReadInput> read;
  for (size_t i = 0; i < files.size(); ++i)
    read.push_back({&inputs[i], files[i]});
  checkReplicatedInputs(*job, mesh, read, batches->rowCount());
}

void StepLoop::loadProgram(const Mesh &mesh) {
  ProgramOptions programOptions;
  programOptions.print = [&out = setup.request.out](const std::vector<std::string> &texts,
                                                    const std::vector<HostView> &values) {
    std::string line = texts.empty() ? "" : texts[0];
    for (size_t i = 0; i < values.size(); ++i)
      line += numpyText(values[i].dtype, values[i].shape, values[i].data) + texts[i + 1];
    writeText(out, line);
  };
  programOptions.checkNans = programOptions.nansEndJob = options.checkNans;
  ProfileRecord *profile = reporter.profile.getRecord();
  programOptions.profileLog = profile ? &profile->log : nullptr;
  program = std::make_unique<Program>(job, setup.artifact, mesh, std::move(programOptions));
  if (profile && program->getExecutor())
    profile->describe(*program->getExecutor(), mesh);
}

std::optional<Verdict> StepLoop::run() {
  RunCheckpoints checkpoints(
      options, carries, job, plan, stop,
      [&reporter = reporter](const Notice &notice, int64_t savedStep) { reporter.tellOnce(notice, savedStep); });
  checkpoints.beforeSave = [this] { batches->compare(); };
  int64_t done = checkpoints.resume(inputs, needsResults(plan, options, carries));
  countStep(done);
  if (done == 0 || done < options.steps) {
    batches->feed(done + 1, inputs);
    callAndWait();
  } else {
    results = takeCarried(carries, inputs, plan.results.size());
  }
  firstResultMs = static_cast<double>(steadyNs() - options.startedAtNs) * 1e-6;
  if (std::optional<Verdict> interruption = runSteps(done, checkpoints))
    return interruption;
  batches->compare();
  checkpoints.finish();
  stop.heed(false);
  for (int i = 0; i < options.repeat; ++i) {
    results.clear(); // Releases their memory before the next call.
    callAndWait();
  }
  return std::nullopt;
}

/// Runs the loop of steps, of which `done` were done by an earlier job. `results` are those of the first step.
std::optional<Verdict> StepLoop::runSteps(int64_t done, RunCheckpoints &checkpoints) {
  for (int64_t step = done + 1; step <= options.steps; ++step) {
    if (step > done + 1) {
      carryOver(carries, results, inputs);
      results.clear(); // Releases results that are not carried before the next step.
      batches->feed(step, inputs);
      callAndWait();
    }
    countStep(step);
    checkpoints.afterStep(step, results);
    reporter.showStep();
    if (checkpoints.stopsAfter(step, results))
      return checkpoints.getInterruption();
  }
  return std::nullopt;
}

void StepLoop::callAndWait() {
  int64_t began = steadyNs();
  results = program->call(inputs);
  for (const Array &value : results)
    value.block_until_ready();
  job->finishLaunches(); // Waits for programs without results, too.
  durations.add(static_cast<double>(steadyNs() - began) * 1e-3);
}

void StepLoop::countStep(int64_t step) {
  reporter.countStep(step);
  if (options.steps > 0)
    job->countStep(step, options.steps);
}

void StepLoop::writeTimes() {
  if (options.repeat == 0 && options.timeJson.empty())
    return;
  RunTimes times = slowestTimes(*job, firstResultMs, durations.getCounted());
  times.compileMs = options.compileMs;
  if (job->getProcess() == 0 && !options.timeJson.empty())
    writeFileAtomically(options.timeJson, times.json());
  else if (job->getProcess() == 0)
    reporter.log.write(RunLog::Level::Info, "time: " + times.text());
}

void StepLoop::writeOutputs() {
  writeResults(job, plan, results, options.outputs, options.print, setup.request.out);
  if (options.printShards)
    printShards(job, plan, results, setup.request.out);
}

} // namespace spmd
