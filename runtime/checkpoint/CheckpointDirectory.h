//===- CheckpointDirectory.h - the checkpoints of a job ---------*- C++ -*-===//
//
// A folder of checkpoints. Folders named `step-0000000120` are complete, because a checkpoint gets its name by one
// rename after all its files are on disk. Other names that begin with a dot are leftovers of a job that ended: the next
// job gives complete checkpoints their name, and removes the rest.
//
// The folder holds one line of checkpoints, each of which continues the ones before it, so the newest state is the one
// with the highest step. If a run saves a checkpoint that does not continue all existing ones (it starts anew, goes
// back to an older step, or skips a damaged one), the others move to `superseded-1`, a folder of checkpoints like this
// one. Checkpoints there are never removed.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/checkpoint/Manifest.h"
#include "runtime/support/Process.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace spmd {

/// Returns the steps of the complete checkpoints, ascending; empty if the folder does not exist.
std::vector<int64_t> findCheckpoints(const std::string &directory);

/// Returns the folder for the next superseded checkpoints: `DIRECTORY/superseded-1`, or the first free number after it.
std::string supersededPath(const std::string &directory);

/// Returns the folder of a step's checkpoint.
std::string checkpointPath(const std::string &directory, int64_t step);

/// Reads the manifest of a checkpoint. Throws spmd::Error if it is missing or damaged.
Manifest readManifest(const std::string &directory, int64_t step);

/// The single job that writes to a folder. Only process 0 uses it, one thread at a time.
class CheckpointDirectory {
public:
  /// Creates the folder if necessary, and takes its lock, which is released when the process ends, however it ends.
  /// Finishes or removes checkpoints that an earlier job left incomplete. Throws if another job holds the lock, and
  /// names that job by its `owner` text.
  CheckpointDirectory(const std::string &directory, const std::string &owner);

  /// Sets the checkpoint that the first saved one continues; without this call it continues none. Later checkpoints
  /// continue the ones saved before them.
  void continueFrom(int64_t step);
  /// Creates an empty folder for the files of a checkpoint and returns its path.
  std::string begin(int64_t step);
  /// Writes the manifest, moves the checkpoints that this one supersedes, and gives it its name; it replaces a
  /// checkpoint of the same step in its line. When commit returns, the checkpoint survives a power failure. When it
  /// throws, the other checkpoints are in their old places.
  void commit(Manifest manifest);
  /// Removes the folder that begin() created.
  void abandon(int64_t step) noexcept;
  /// After a commit: removes all but the newest `count` checkpoints of the line; 0 keeps all.
  void keepNewest(int64_t count);

private:
  void endUnfinished();
  void finish(int64_t step, std::optional<int64_t> previous, bool replaces);

  std::string directory;
  UniqueFd lock;
  int64_t newest = -1; ///< The highest step of this job's line.
  bool hasCommitted = false;
};

} // namespace spmd
