//===- checkpoint.h - saving and restoring arrays ---------------*- C++ -*-===//
#pragma once

#include "array.h"

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <source_location>
#include <string>
#include <utility>
#include <vector>

namespace spmd {

class SaveState;

/// A checkpoint that is being written. Copies refer to the same one. Thread-safe.
class CheckpointSave {
public:
  CheckpointSave() = default;
  explicit CheckpointSave(std::shared_ptr<SaveState> state) : state(std::move(state)) {}

  /// Waits until the checkpoint survives a power failure. Throws the error of writing, on all processes alike; earlier
  /// checkpoints are intact then.
  void wait() const;
  /// Returns whether wait() returns at once.
  bool is_done() const;

private:
  std::shared_ptr<SaveState> state;
};

struct SaveOptions {
  /// Afterwards remove all but so many of the newest checkpoints; 0: remove none. Superseded checkpoints are not
  /// removed.
  int64_t keep = 0;
  std::function<void()> when_saved = {}; ///< Called when it is durable, on a thread of the runtime.
};

/// Writes named arrays to the folder `directory`/step-0000000120, which all hosts must share, and returns at once: the
/// arrays are read in the background (their memory stays in use that long). Each process writes shards of its devices
/// to a .safetensors file of its own; each distinct shard is written once. Every process calls it with the same names;
/// shutdown() waits for it. One job at a time may write to a directory. Checkpoints that this one does not continue
/// (those of another job, unless restore_checkpoint read them or later ones in this job, and those of a higher step)
/// are moved to `directory`/superseded-1, or the first number that is free: the highest step is the newest state.
CheckpointSave save_checkpoint(const std::string &directory, int64_t step,
                               const std::vector<std::pair<std::string, Array>> &arrays, SaveOptions options = {},
                               std::source_location where = std::source_location::current());

/// Returns the steps of the complete checkpoints in a folder, ascending.
std::vector<int64_t> checkpoint_steps(const std::string &directory);

/// An array of a checkpoint.
struct SavedArray {
  std::string name;
  DType dtype = DType::F32;
  std::vector<int64_t> shape;
};
/// Returns the arrays of a checkpoint.
std::vector<SavedArray> checkpoint_contents(const std::string &directory, int64_t step);

struct RestoredCheckpoint {
  int64_t step = 0;
  std::vector<Array> arrays;         ///< In the order of the request.
  std::vector<std::string> warnings; ///< One sentence for each newer checkpoint that is damaged.
};

/// Reads arrays of a checkpoint into any sharding, on any mesh and number of processes: a process reads what its
/// devices hold, and verifies the checksums. Every process calls it. Without a step it reads the newest checkpoint that
/// is not damaged. Throws an error if there is none, or if it does not have an array.
RestoredCheckpoint restore_checkpoint(const std::string &directory,
                                      const std::vector<std::pair<std::string, NamedSharding>> &wanted,
                                      std::optional<int64_t> step = std::nullopt,
                                      std::source_location where = std::source_location::current());

} // namespace spmd
