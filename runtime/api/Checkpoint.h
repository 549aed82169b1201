//===- Checkpoint.h - saving and restoring the arrays of a job --*- C++ -*-===//
#pragma once

#include "runtime/api/ArrayImpl.h"
#include "runtime/checkpoint/CheckpointDirectory.h"
#include "runtime/support/BackgroundThread.h"

#include <condition_variable>
#include <limits>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

namespace spmd {

/// The result of a save. An error is kept as its message, and thrown to each caller that waits.
class SaveState {
public:
  void succeed();
  void fail(const Error &error, int32_t culprit);
  bool isDone() const;
  /// Waits; throws the error, as SharedError unless it is a verdict.
  void wait() const;

private:
  mutable std::mutex mutex;
  mutable std::condition_variable changed;
  bool done = false, failed = false;
  std::string message;
  Error::Kind kind = Error::Kind::Failed;
  int32_t culprit = 0;
};

/// Writes a job's checkpoints to one folder, one after the other, on a thread of its own. Files are written to a
/// temporary folder; process 0, which holds the lock, renames it when all processes have synced their files. The
/// processes communicate through the job's store, with keys under `prefix`.
class CheckpointWriter {
public:
  struct Array {
    std::string name;
    std::shared_ptr<const ArrayImpl> impl;
  };
  struct Request {
    int64_t step = 0;
    std::vector<Array> arrays;
    std::optional<int64_t> restored; ///< The step of the folder that the job restored last.
    SaveOptions options;
    std::shared_ptr<SaveState> state;
  };

  /// All processes construct it at the same time. Throws, on all, if the folder cannot be used.
  CheckpointWriter(Job &job, const std::string &directory);
  /// Waits for the saves under way.
  ~CheckpointWriter();

  CheckpointSave save(int64_t step, std::vector<Array> arrays, SaveOptions options);

private:
  std::string callText() const;
  /// Returns the value of a key that `process` sets.
  std::string awaitKey(const std::string &key, int32_t process) const;
  void threadMain();
  void write(Request &request, uint64_t number);
  CheckpointFile writeOwnFile(const Request &request, const Manifest &manifest, const std::string &folder);
  void lead(const Request &request, Manifest manifest, const std::string &prefix);
  void follow(const Request &request, const Manifest &manifest, const std::string &prefix);

  Job &job;
  std::string directory, prefix;
  std::optional<CheckpointDirectory> own; ///< On process 0 only.
  std::mutex mutex;
  std::condition_variable changed;
  std::vector<Request> queue;
  bool stopping = false;
  BackgroundThread thread;
};

/// An array of a checkpoint, the sharding to restore it to, and the type that it must have.
struct WantedArray {
  std::string name;
  NamedSharding sharding;
  std::optional<DType> dtype;
  std::optional<std::vector<int64_t>> shape;
};

/// Returns the steps that process 0 sees, newest first; the same on all processes. All processes call it.
std::vector<int64_t> agreeOnSteps(Job &job, const std::string &directory);

/// Whether a checkpoint may have arrays that are not wanted. A run that restores only some arrays mixes two states, so
/// the user has to allow it.
enum class Unwanted { Ignored, Refused };

/// Implements restore_checkpoint; without a step it tries those below `limit`. Returns step -1 and no arrays if there
/// is none.
RestoredCheckpoint restoreCheckpoint(const std::shared_ptr<Job> &job, const std::string &directory,
                                     const std::vector<WantedArray> &wanted, std::optional<int64_t> step,
                                     Unwanted unwanted = Unwanted::Ignored,
                                     int64_t limit = std::numeric_limits<int64_t>::max());

/// Returns the name under which the job's tables have a folder.
std::string folderKey(const std::string &directory);

/// Returns the job's writer for a folder. The first call constructs it; all processes make that call.
CheckpointWriter &checkpointWriter(Job &job, const std::string &directory);

} // namespace spmd
