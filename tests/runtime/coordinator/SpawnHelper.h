//===- SpawnHelper.h - real processes whose output is read ------*- C++ -*-===//
#pragma once

#include "runtime/support/Process.h"

#include <chrono>
#include <string>
#include <utility>
#include <vector>

#include <sys/types.h>

namespace spmd::test {

/// A program under test; killed at the end if it still runs.
class Spawned {
public:
  Spawned(const std::vector<std::string> &command, const std::vector<std::pair<std::string, std::string>> &environment,
          int inheritedFd = -1);
  ~Spawned();
  Spawned(Spawned &&other) noexcept;

  pid_t pid = -1;
  /// Everything read so far.
  std::string output;

  /// Reads on until the output contains the text; false when it ends, or time is up, before.
  bool waitForOutput(const std::string &text, std::chrono::milliseconds limit = std::chrono::seconds(20));
  /// The status as waitpid gives it, or -1 if it does not end in time. Its output has been read to the end then.
  int waitForEnd(std::chrono::milliseconds limit);
  void kill(int signal);

private:
  bool readSome(std::chrono::milliseconds limit);

  UniqueFd stream, exitFd;
  bool ended = false;
  int status = 0;
};

/// Waits until no process has this number, zombies counting as gone.
bool waitUntilGone(pid_t pid, std::chrono::milliseconds limit);

} // namespace spmd::test
