//===- SpawnHelper.h - real processes and their output ----------*- C++ -*-===//
#pragma once

#include "runtime/support/Process.h"

#include <chrono>
#include <string>
#include <utility>
#include <vector>

#include <sys/types.h>

namespace spmd::test {

/// A program under test; killed by the destructor if it still runs.
class Spawned {
public:
  Spawned(const std::vector<std::string> &command, const std::vector<std::pair<std::string, std::string>> &environment,
          int inheritedFd = -1);
  ~Spawned();
  Spawned(Spawned &&other) noexcept;

  pid_t pid = -1;
  /// All output read so far.
  std::string output;

  /// Reads until the output contains the text; returns false if it ends, or the time is up, before.
  bool waitForOutput(const std::string &text, std::chrono::milliseconds limit = std::chrono::seconds(20));
  /// Returns the status as waitpid gives it, or -1 if the process does not end in time. All output has been read then.
  int waitForEnd(std::chrono::milliseconds limit);
  void kill(int signal);

private:
  bool readSome(std::chrono::milliseconds limit);

  UniqueFd stream, exitFd;
  bool ended = false;
  int status = 0;
};

/// Waits until no process has this number; zombies count as gone.
bool waitUntilGone(pid_t pid, std::chrono::milliseconds limit);

} // namespace spmd::test
