//===- CheckpointDirectory.h - the checkpoints of a job ---------*- C++ -*-===//
//
// A folder of checkpoints: `step-0000000120` are complete, since a checkpoint gets its name by one rename after
// everything in it is on disk. Whatever else begins with a dot was left by a job that ended meanwhile: the next one
// gives what is whole its name, and removes the rest.
//
// The folder shows one line of checkpoints, each of which goes on from those before it, so that the newest state is the
// one with the highest step. What is saved without having gone on from all that is there (a run that begins anew, goes
// back to an older step, or passes over a damaged one) moves the others to `superseded-1`, a folder of checkpoints like
// this one. Nothing there is ever removed.
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

/// The steps of the complete checkpoints, ascending; none where the folder does not exist.
std::vector<int64_t> findCheckpoints(const std::string &directory);

/// Where the next checkpoints that are superseded go: `DIRECTORY/superseded-1` or the first number after that is free.
std::string supersededPath(const std::string &directory);

/// The folder of a step's checkpoint.
std::string checkpointPath(const std::string &directory, int64_t step);

/// Reads the manifest of a checkpoint. Throws spmd::Error where it is missing or damaged.
Manifest readManifest(const std::string &directory, int64_t step);

/// The one job that writes to a folder. Used by process 0 alone, by one thread at a time.
class CheckpointDirectory {
public:
  /// Makes the folder if there is none, and takes its lock, which goes away with the process however it ends. Ends what
  /// an earlier job left unfinished. Throws where another job, which is named, holds the lock. `owner` is what that
  /// other one is told of us.
  CheckpointDirectory(const std::string &directory, const std::string &owner);

  /// Says which checkpoint the first one that is saved goes on from; without this, from none. Later ones go on from
  /// what was saved before them.
  void goOnFrom(int64_t step);
  /// An empty folder for the files of a checkpoint that is being written.
  std::string begin(int64_t step);
  /// Writes the manifest, moves what this checkpoint supersedes, and gives it its name; one of the same step that it
  /// goes on from is replaced. When it returns, the checkpoint survives a power cut; when it throws, the others are
  /// where they were.
  void commit(Manifest manifest);
  /// Removes what begin() made.
  void abandon(int64_t step) noexcept;
  /// After a commit: removes all but the newest checkpoints of the line; with 0, none.
  void keepNewest(int64_t count);

private:
  void endUnfinished();
  void finish(int64_t step, std::optional<int64_t> previous, bool replaces);

  std::string directory;
  UniqueFd lock;
  int64_t newest = -1; ///< What is of this job's line has no higher step.
  bool hasCommitted = false;
};

} // namespace spmd
