//===- SaveCheckpoint.cpp - save_checkpoint and its result ----------------===//

#include "runtime/api/Checkpoint.h"
#include "runtime/api/Runtime.h"

#include <set>

namespace spmd {

void SaveState::succeed() {
  std::lock_guard lock(mutex);
  done = true;
  changed.notify_all();
}

void SaveState::fail(const Error &error, int32_t process) {
  std::lock_guard lock(mutex);
  done = failed = true;
  message = error.what();
  kind = error.getKind();
  culprit = process;
  changed.notify_all();
}

bool SaveState::isDone() const {
  std::lock_guard lock(mutex);
  return done;
}

void SaveState::wait() const {
  std::unique_lock lock(mutex);
  changed.wait(lock, [&] { return done; });
  if (!failed)
    return;
  if (kind == Error::Kind::Verdict)
    throw Error(message, kind);
  throw SharedError(message, culprit);
}

void CheckpointSave::wait() const {
  if (!state)
    throw Error("wait() is called on a CheckpointSave without a checkpoint; use the result of save_checkpoint",
                Error::Kind::Usage);
  state->wait();
}

bool CheckpointSave::is_done() const { return state && state->isDone(); }

CheckpointSave save_checkpoint(const std::string &directory, int64_t step,
                               const std::vector<std::pair<std::string, Array>> &arrays, SaveOptions options,
                               std::source_location where) {
  std::shared_ptr<Job> job = currentJob(where);
  if (step < 0)
    throw Error("save_checkpoint is given step " + std::to_string(step) + "; steps are not negative",
                Error::Kind::Usage);
  std::vector<CheckpointWriter::Array> list;
  std::set<std::string> names;
  for (const auto &[name, array] : arrays) {
    array.shape(); // Throws for an empty Array.
    if (name.empty() || !names.insert(name).second)
      throw Error(name.empty() ? "save_checkpoint is given an array without a name"
                               : "save_checkpoint is given two arrays named '" + name + "'",
                  Error::Kind::Usage);
    // An ArrayImpl of its own, because the array may be donated while it is being written.
    list.push_back({name, std::make_shared<const ArrayImpl>(*array.get_impl())});
  }
  return checkpointWriter(*job, directory).save(step, std::move(list), std::move(options));
}

} // namespace spmd
