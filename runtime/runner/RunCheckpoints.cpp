//===- RunCheckpoints.cpp - checkpoints of a loop of steps ----------------===//

#include "runtime/runner/RunCheckpoints.h"

#include <algorithm>
#include <csignal>

namespace spmd {
namespace {

/// Returns `step 10`, `steps 10, 20, 30`, or for a long list `300 steps from 10 to 3000`; `steps` ascend.
std::string listText(const std::vector<int64_t> &steps) {
  if (steps.size() > 6)
    return std::to_string(steps.size()) + " steps from " + std::to_string(steps.front()) + " to " +
           std::to_string(steps.back());
  std::string text;
  for (int64_t step : steps)
    text += (text.empty() ? "" : ", ") + std::to_string(step);
  return (steps.size() == 1 ? "step " : "steps ") + text;
}

/// An agreement takes a tenth of a millisecond, a step at least some microseconds.
constexpr int64_t kMaxStepsAhead = 10'000;

} // namespace

void checkCheckpointOptions(const RunOptions &options) {
  auto usage = [](const std::string &message) { return Error(message, Error::Kind::Usage); };
  bool hasDirectory = !options.checkpointDirectory.empty();
  if (options.checkpointEvery != 0 && !hasDirectory)
    throw usage("--checkpoint-every needs a place to save to; give --checkpoint-dir DIR");
  if (options.checkpointKeep != 0 && !hasDirectory)
    throw usage("--checkpoint-keep needs a place to save to; give --checkpoint-dir DIR");
  if (options.resume && !hasDirectory)
    throw usage("--resume needs a place to read from; give --checkpoint-dir DIR");
  if (options.resumePartial && !options.resume)
    throw usage("--resume-partial needs --resume: it allows a checkpoint with more values than --carry names");
  if (hasDirectory && (options.steps == 0 || options.carries.empty()))
    throw usage("--checkpoint-dir saves the values that a loop of steps carries; give --steps K and --carry NAMES");
}

RunCheckpoints::RunCheckpoints(const RunOptions &options, const std::vector<CarriedValue> &carries,
                               std::shared_ptr<Job> job, const Plan &plan, StopRequest &stop, Say say)
    : options(options), carries(carries), job(std::move(job)), plan(plan), stop(stop), say(std::move(say)) {
  // The folder is locked before anything is computed, so that a job that cannot lock it fails early.
  if (options.checkpointDirectory.empty())
    return;
  checkpointWriter(*this->job, options.checkpointDirectory);
  stop.heed(true);
  agreedAt = std::chrono::steady_clock::now();
}

int64_t RunCheckpoints::resume(std::vector<Array> &inputs, bool needsResults) {
  if (options.checkpointDirectory.empty())
    return 0;
  if (!options.resume) {
    warnOfSuperseded(-1);
    return 0;
  }
  std::vector<WantedArray> wanted;
  for (const CarriedValue &carry : carries) {
    const ValueInfo &parameter = plan.params[carry.parameter];
    wanted.push_back({parameter.name, inputs[carry.parameter].sharding(), parameter.dtype, parameter.shape});
  }
  RestoredCheckpoint restored =
      *options.resume >= 0 ? restoreRequested(wanted, needsResults) : restoreNewest(wanted, needsResults);
  if (restored.step < 0)
    return 0;
  for (size_t i = 0; i < carries.size(); ++i)
    inputs[carries[i].parameter] = restored.arrays[i];
  tell(Notice::Level::Info, "checkpoint: resumed from step " + std::to_string(restored.step));
  if (restored.step < options.steps && !isRepeated)
    warnOfSuperseded(restored.step);
  return restored.step;
}

RestoredCheckpoint RunCheckpoints::restoreRequested(const std::vector<WantedArray> &wanted, bool needsResults) {
  // Results that are not carried exist only after a step.
  if (*options.resume > options.steps - (needsResults ? 1 : 0))
    throw SharedError("--resume=" + std::to_string(*options.resume) + " leaves nothing of --steps " +
                          std::to_string(options.steps) + " to run; give more steps",
                      SharedError::nobody, Error::Kind::Usage);
  return restoreCheckpoint(job, options.checkpointDirectory, wanted, *options.resume, unwanted());
}

RestoredCheckpoint RunCheckpoints::restoreNewest(const std::vector<WantedArray> &wanted, bool needsResults) {
  const std::string &directory = options.checkpointDirectory;
  std::vector<int64_t> steps = agreeOnSteps(*job, directory);
  std::reverse(steps.begin(), steps.end());
  if (!steps.empty() && steps.back() > options.steps)
    throw SharedError("--resume leaves nothing of --steps " + std::to_string(options.steps) + " to run: '" + directory +
                          "' has " + listText(steps) + "; give more steps, or --resume=N to go back to step N",
                      SharedError::nobody, Error::Kind::Usage);
  RestoredCheckpoint restored = restoreCheckpoint(job, directory, wanted, std::nullopt, unwanted());
  for (const std::string &warning : restored.warnings)
    tell(Notice::Level::Warning, warning);
  if (restored.step < 0 && !steps.empty())
    throw SharedError("'" + directory + "' has checkpoints (" + listText(steps) + ") and none can be restored: " +
                          restored.warnings[0] + "; leave --resume out to begin at step 0",
                      SharedError::nobody);
  if (restored.step < 0)
    tell(Notice::Level::Info, "checkpoint: there is none in '" + directory + "'; beginning at step 0");
  if (restored.step < options.steps || !needsResults)
    return restored;
  isRepeated = true;
  restored.arrays.clear(); // Releases its memory for the other checkpoint.
  restored = restoreCheckpoint(job, directory, wanted, std::nullopt, unwanted(), options.steps);
  for (const std::string &warning : restored.warnings)
    tell(Notice::Level::Warning, warning);
  if (restored.step < 0)
    tell(Notice::Level::Info, "checkpoint: step " + std::to_string(options.steps) +
                                  " exists, but does not have all requested results; beginning at step 0");
  return restored;
}

void RunCheckpoints::warnOfSuperseded(int64_t from) {
  if (job->getProcess() != 0)
    return;
  const std::string &directory = options.checkpointDirectory;
  std::vector<int64_t> steps = findCheckpoints(directory);
  std::erase_if(steps, [&](int64_t step) { return step <= from; });
  if (steps.empty())
    return;
  tell(Notice::Level::Warning, "this run does not continue from the checkpoints in '" + directory + "' (" +
                                   listText(steps) + "): its first checkpoint moves them to '" +
                                   supersededPath(directory) + "'" +
                                   (options.resume ? "" : "; give --resume to continue from the newest"));
}

void RunCheckpoints::afterStep(int64_t step, const std::vector<Array> &results) {
  if (options.checkpointDirectory.empty() || isRepeated)
    return;
  if (last && last->is_done())
    last->wait();
  bool isDue = options.checkpointEvery > 0 && step % options.checkpointEvery == 0;
  if (!isDue && step != options.steps)
    return;
  save(step, results);
}

void RunCheckpoints::save(int64_t step, const std::vector<Array> &results) {
  if (beforeSave)
    beforeSave();
  finish(); // One save at a time, because a save keeps its arrays in memory.
  std::vector<CheckpointWriter::Array> arrays;
  for (const CarriedValue &carry : carries)
    arrays.push_back({plan.params[carry.parameter].name, results[carry.result].get_impl()});
  SaveOptions saveOptions;
  saveOptions.keep = options.checkpointKeep;
  saveOptions.when_saved = [say = say, step] {
    say({Notice::Level::Info, "checkpoint: step " + std::to_string(step) + " saved"}, step);
  };
  last = checkpointWriter(*job, options.checkpointDirectory).save(step, std::move(arrays), std::move(saveOptions));
  lastStep = step;
}

bool RunCheckpoints::stopsAfter(int64_t step, const std::vector<Array> &results) {
  if (options.checkpointDirectory.empty() || step == options.steps)
    return false;
  if (step < agreementStep)
    return false;
  // Processes may be at different steps at the same time, so they exchange answers at a step that they agreed on the
  // last time: as far ahead as process 0 comes in a quarter of a second. The distance grows slowly, because steps may
  // become slower.
  using Seconds = std::chrono::duration<double>;
  auto now = std::chrono::steady_clock::now();
  double rate = static_cast<double>(step - agreedAtStep) / std::max(Seconds(now - agreedAt).count(), 1e-6);
  bool isFirst = agreementStep == 0;
  stepsAhead =
      isFirst ? 1 : std::clamp<int64_t>(static_cast<int64_t>(rate / 4), 1, std::min(2 * stepsAhead, kMaxStepsAhead));
  std::vector<std::string> answers =
      job->exchangeAll({"run-stop", "the agreement of the processes whether to stop"},
                       (stop.wasMade() ? "stop " : "go ") + std::to_string(step + stepsAhead));
  agreementStep = std::stoll(answers[0].substr(answers[0].find(' ')));
  agreedAt = now;
  agreedAtStep = step;
  auto told = std::find_if(answers.begin(), answers.end(), [](const auto &answer) { return answer.starts_with("s"); });
  if (told == answers.end())
    return false;
  if (lastStep != step && !isRepeated)
    save(step, results);
  finish();
  const ProcessInfo &process = job->getClient().topology().processes[static_cast<size_t>(told - answers.begin())];
  interruption = {process.index, process.host, process.pid, Verdict::Cause::Interrupted, SIGTERM, "", {}};
  interruption.text = ": step " + std::to_string(isRepeated ? options.steps : step) + " of " +
                      std::to_string(options.steps) + " is saved, and --resume continues from it";
  return true;
}

void RunCheckpoints::finish() {
  if (last)
    last->wait();
}

} // namespace spmd
