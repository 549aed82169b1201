//===- RunCheckpoints.h - checkpoints of a loop of steps --------*- C++ -*-===//
//
// `--steps K --carry p,m --checkpoint-dir DIR --checkpoint-every N --resume`: the carried values are saved after every
// N steps and after the last one, under the parameters' names, and restored when a job continues.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/api/Checkpoint.h"
#include "runtime/runner/Carry.h"
#include "runtime/runner/RunOptions.h"
#include "runtime/runner/StopRequest.h"

#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace spmd {

/// Throws usage errors: options without the ones that they need.
void checkCheckpointOptions(const RunOptions &options);

class RunCheckpoints {
public:
  /// Receives messages for the user; process 0 calls it, once for the job. `savedStep` is the step whose checkpoint is
  /// durable now, or -1.
  using Say = std::function<void(const Notice &notice, int64_t savedStep)>;

  /// From here on a stop request is obeyed; `stop` must outlive this object. `say` may be called from another thread.
  RunCheckpoints(const RunOptions &options, const std::vector<CarriedValue> &carries, std::shared_ptr<Job> job,
                 const Plan &plan, StopRequest &stop, Say say);

  /// Called on all processes before carried values are saved; may be empty.
  std::function<void()> beforeSave;

  /// If --resume is given, sets the parameters to a checkpoint's values, and returns the number of steps that they
  /// represent; 0 if there is no checkpoint. Warns about checkpoints of the folder that this run does not continue.
  /// `needsResults`: results are wanted that are not carried. Only a step computes those, so a finished loop runs its
  /// last step again.
  int64_t resume(std::vector<Array> &inputs, bool needsResults);

  /// Starts to save the carried values if a checkpoint is due at this step. Throws the error of an earlier save.
  void afterStep(int64_t step, const std::vector<Array> &results);

  /// Returns whether the job is asked to end early (SIGTERM on any process, which schedulers send before they take a
  /// machine away); then it has saved the carried values. Returns the same on all processes, which agree on it at most
  /// four times a second.
  bool stopsAfter(int64_t step, const std::vector<Array> &results);
  /// Returns why the job ends, after stopsAfter() returned true.
  const Verdict &getInterruption() const { return interruption; }

  /// Waits until everything is saved.
  void finish();

private:
  void tell(Notice::Level level, std::string text) const { say({level, std::move(text)}, -1); }
  Unwanted unwanted() const { return options.resumePartial ? Unwanted::Ignored : Unwanted::Refused; }
  RestoredCheckpoint restoreRequested(const std::vector<WantedArray> &wanted, bool needsResults);
  RestoredCheckpoint restoreNewest(const std::vector<WantedArray> &wanted, bool needsResults);
  void warnOfSuperseded(int64_t from);
  void save(int64_t step, const std::vector<Array> &results);

  const RunOptions &options;
  const std::vector<CarriedValue> &carries;
  std::shared_ptr<Job> job;
  const Plan &plan;
  StopRequest &stop;
  Say say;
  std::optional<CheckpointSave> last;
  int64_t lastStep = -1; ///< The step of `last`.
  /// All steps were done, and their state saved, by an earlier job; they run again for their other results.
  bool isRepeated = false;

  Verdict interruption;
  int64_t agreementStep = 0; ///< The step at which the processes next exchange whether to stop.
  int64_t agreedAtStep = 0;  ///< The step at which they did last.
  int64_t stepsAhead = 1;
  std::chrono::steady_clock::time_point agreedAt;
};

} // namespace spmd
