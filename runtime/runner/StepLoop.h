//===- StepLoop.h - the calls of a run --------------------------*- C++ -*-===//
#pragma once

#include "runtime/api/FunctionImpl.h"
#include "runtime/runner/CallTimes.h"
#include "runtime/runner/RunBatches.h"
#include "runtime/runner/RunCheckpoints.h"
#include "runtime/runner/RunReporter.h"

#include <memory>
#include <optional>
#include <vector>

namespace spmd {

/// Calls the program: once, or `--steps` times with carried values, batches and checkpoints; then `--repeat` times.
/// Each public function is called once, in the order of the declarations, on all processes. The members hold memory of
/// devices, so the loop outlives the report of an error to the job.
class StepLoop {
public:
  /// `stop` requests to save and end after a step.
  StepLoop(const PreparedRun &run, std::shared_ptr<Job> job, RunReporter &reporter, StopRequest &stop);

  /// Checks the devices and the folders of the outputs, reads the inputs, compares them between processes, and loads
  /// the program.
  void prepare();
  /// Runs. Returns the reason if the job saved its state and ends early; the next functions are not called then.
  std::optional<Verdict> run();
  /// Writes the times of the calls, if the user asked for them.
  void writeTimes();
  /// Writes and prints the results that the user asked for.
  void writeOutputs();

private:
  void compareInputs(const Mesh &mesh);
  void loadProgram(const Mesh &mesh);
  void callAndWait();
  void countStep(int64_t step);
  std::optional<Verdict> runSteps(int64_t done, RunCheckpoints &checkpoints);

  const PreparedRun &setup;
  const RunOptions &options;
  const Plan &plan;
  const std::vector<CarriedValue> &carries;
  std::shared_ptr<Job> job;
  RunReporter &reporter;
  StopRequest &stop;

  std::unique_ptr<Program> program;
  std::unique_ptr<RunBatches> batches;
  std::vector<Array> inputs, results;
  CallDurations durations;
  double firstResultMs = 0; ///< From the start of the command to the first result.
};

} // namespace spmd
