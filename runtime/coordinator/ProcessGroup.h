//===- ProcessGroup.h - children that cannot outlive their parent ---*- C++ -*-===//
//
// A process group led by a guard: a small process that only waits for the end of its parent, then ends the whole group,
// and exits when no process of the group is left. As long as the guard is not reaped, no other group can get the
// group's number, so signals to the group never reach a foreign process; they also reach grandchildren.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/support/Process.h"

#include <chrono>
#include <string>
#include <utility>
#include <vector>

#include <sys/types.h>

namespace spmd::coordinator {

class ProcessGroup {
public:
  /// Starts the guard. `grace` is the time between SIGTERM and SIGKILL if this process ends and others of the group do
  /// not. Throws spmd::Error.
  explicit ProcessGroup(std::chrono::milliseconds grace);
  /// Kills the processes that are left, and the guard.
  ~ProcessGroup();
  ProcessGroup(const ProcessGroup &) = delete;
  ProcessGroup &operator=(const ProcessGroup &) = delete;

  struct Child {
    std::vector<std::string> command;     ///< The program is searched in PATH if it has no slash.
    std::vector<std::string> environment; ///< Entries `NAME=value`.
    int standardOutput = -1;              ///< -1: the stdout of this process.
    int standardError = -1;
    std::vector<int> inherit; ///< Descriptors that the child keeps, under their numbers.
  };

  /// Starts a child in the group; its standard input is /dev/null, and all signals have their default actions. It dies
  /// with the calling thread. Throws spmd::Error if the program cannot be executed.
  pid_t start(const Child &child);

  /// Sends the signal to all children and their descendants.
  void signal(int number);

private:
  pid_t guard = -1;
  UniqueFd lifeline; ///< The guard sees this pipe close when its parent ends.
};

} // namespace spmd::coordinator
