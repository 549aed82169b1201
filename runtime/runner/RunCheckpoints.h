//===- RunCheckpoints.h - checkpoints of a loop of steps --------*- C++ -*-===//
//
// `--steps K --carry p,m --checkpoint-dir DIR --checkpoint-every N --resume`: what is carried is saved after every N
// steps and after the last one, under the parameters' names, and read again when a job goes on.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/api/Checkpoint.h"
#include "runtime/runner/RunCarry.h"
#include "runtime/runner/RunProgram.h"
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
  /// What there is to tell, once for the job, by process 0. `savedStep`: the step whose checkpoint is durable now, or
  /// -1.
  using Say = std::function<void(const Notice &notice, int64_t savedStep)>;

  /// `stop` is heeded from here on, and outlives this; `say` may be called from another thread.
  RunCheckpoints(const RunOptions &options, const std::vector<CarriedValue> &carries, std::shared_ptr<Job> job,
                 const Plan &plan, StopRequest &stop, Say say);

  /// Called on all processes before what is carried is saved; may be empty.
  std::function<void()> beforeSave;

  /// Where it was asked to go on: puts a checkpoint's values in the parameters' places, and returns how many steps they
  /// stand for; 0 where there is none. Says what the folder has that this run does not go on from. `needsResults`:
  /// whether results are wanted that are not carried, which only a step can make: a loop that was done needs its last
  /// step again.
  int64_t resume(std::vector<Array> &inputs, bool needsResults);

  /// Begins to save what is carried if this step's turn has come. Throws the error of an earlier save.
  void afterStep(int64_t step, const std::vector<Array> &results);

  /// Whether the job is asked to end early (SIGTERM on any process, as schedulers send it before they take a machine
  /// away): then what is carried is saved, and waited for. The same answer on all processes, which agree on it at most
  /// four times a second.
  bool stopsAfter(int64_t step, const std::vector<Array> &results);
  /// Why it did, once stopsAfter() was true.
  const Verdict &getInterruption() const { return interruption; }

  /// Waits until everything is saved.
  void finish();

private:
  void tell(Notice::Level level, std::string text) const { say({level, std::move(text)}, -1); }
  Unwanted unwanted() const { return options.resumePartial ? Unwanted::Ignored : Unwanted::Refused; }
  RestoredCheckpoint restoreAskedFor(const std::vector<WantedArray> &wanted, bool needsResults);
  RestoredCheckpoint restoreNewest(const std::vector<WantedArray> &wanted, bool needsResults);
  void sayWhatIsSuperseded(int64_t from);
  void save(int64_t step, const std::vector<Array> &results);

  const RunOptions &options;
  const std::vector<CarriedValue> &carries;
  std::shared_ptr<Job> job;
  const Plan &plan;
  StopRequest &stop;
  Say say;
  std::optional<CheckpointSave> last;
  int64_t lastStep = -1; ///< Of `last`.
  /// All steps were done and their state saved before; they are done again for their other results.
  bool isRepeated = false;

  Verdict interruption;
  int64_t agreementStep = 0; ///< When the processes ask one another next.
  int64_t agreedAtStep = 0;  ///< When they did last.
  int64_t stepsAhead = 1;
  std::chrono::steady_clock::time_point agreedAt;
};

} // namespace spmd
