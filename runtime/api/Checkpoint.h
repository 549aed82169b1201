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

/// How a save ends. An error is kept as what it says, and thrown anew to each who waits.
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

/// Writes a job's checkpoints to one folder, one after the other, on a thread of its own. The files of a checkpoint
/// appear in a folder without a name; process 0, which has the lock, gives it its name when all processes have synced
/// theirs. The processes talk through the job's store, with keys under `prefix`.
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

  /// Every process makes one at the same time; throws, on all, where the folder cannot be had.
  CheckpointWriter(Job &job, const std::string &directory);
  /// Waits for what is under way.
  ~CheckpointWriter();

  CheckpointSave save(int64_t step, std::vector<Array> arrays, SaveOptions options);

private:
  void threadMain();
  void write(Request &request, uint64_t number);
  CheckpointFile writeOwnFile(const Request &request, const Manifest &manifest, const std::string &folder);
  void lead(const Request &request, Manifest manifest, const std::string &prefix);
  void follow(const Request &request, const Manifest &manifest, const std::string &prefix);

  Job &job;
  std::string directory, prefix;
  std::optional<CheckpointDirectory> own; ///< On process 0.
  std::mutex mutex;
  std::condition_variable changed;
  std::vector<Request> queue;
  bool stopping = false;
  BackgroundThread thread;
};

/// An array of a checkpoint, where it should go, and what it must be.
struct WantedArray {
  std::string name;
  NamedSharding sharding;
  std::optional<DType> dtype;
  std::optional<std::vector<int64_t>> shape;
};

/// The steps that process 0 sees, newest first; the same on all processes, which all call it.
std::vector<int64_t> agreeOnSteps(Job &job, const std::string &directory);

/// Whether a checkpoint may have arrays that are not wanted. A run that goes on from some of them mixes two states: it
/// has to say that it means to.
enum class Unwanted { Ignored, Refused };

/// restore_checkpoint; without a step, of those below `limit`. Where there is none, step -1 and no arrays.
RestoredCheckpoint restoreCheckpoint(const std::shared_ptr<Job> &job, const std::string &directory,
                                     const std::vector<WantedArray> &wanted, std::optional<int64_t> step,
                                     Unwanted unwanted = Unwanted::Ignored,
                                     int64_t limit = std::numeric_limits<int64_t>::max());

/// A folder's name as the job's tables have it.
std::string folderKey(const std::string &directory);

/// The job's writer for a folder; made at the first call, which every process makes.
CheckpointWriter &checkpointWriter(Job &job, const std::string &directory);

} // namespace spmd
