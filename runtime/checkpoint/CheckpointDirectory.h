//===- CheckpointDirectory.h - the checkpoints of a job ---------*- C++ -*-===//
//
// A folder of checkpoints: `step-0000000120` are complete, since a checkpoint gets its name by one rename after
// everything in it is on disk. Whatever else begins with a dot was left by a job that ended meanwhile, and is removed
// by the next one.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/checkpoint/Manifest.h"
#include "runtime/support/Process.h"

#include <cstdint>
#include <string>
#include <vector>

namespace spmd {

/// The steps of the complete checkpoints, ascending; none where the folder does not exist.
std::vector<int64_t> findCheckpoints(const std::string &directory);

/// The folder of a step's checkpoint.
std::string checkpointPath(const std::string &directory, int64_t step);

/// Reads the manifest of a checkpoint. Throws spmd::Error where it is missing or damaged.
Manifest readManifest(const std::string &directory, int64_t step);

/// The one job that writes to a folder. Used by process 0 alone, by one thread at a time.
class CheckpointDirectory {
public:
  /// Makes the folder if there is none, and takes its lock, which goes away with the process however it ends. Removes
  /// what an earlier job left unfinished. Throws where another job, which is named, holds the lock. `owner` is what
  /// that other one is told of us.
  CheckpointDirectory(const std::string &directory, const std::string &owner);

  /// An empty folder for the files of a checkpoint that is being written.
  std::string begin(int64_t step);
  /// Writes the manifest and gives the checkpoint its name; one of the same step is replaced. When it returns, the
  /// checkpoint survives a power cut.
  void commit(const Manifest &manifest);
  /// Removes what begin() made.
  void abandon(int64_t step) noexcept;
  /// Removes all but the newest checkpoints; with 0, none.
  void keepNewest(int64_t count);

private:
  std::string directory;
  UniqueFd lock;
};

} // namespace spmd
