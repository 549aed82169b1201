//===- ProcessGroup.h - children that cannot outlive their parent ---*- C++ -*-===//
//
// A process group led by a guard: a small process that does nothing but wait for its maker's end, then ends the whole
// group, and goes when nobody of it is left. As long as the guard is not reaped the group's number cannot be used by
// anybody else, so signals to the group never hit a stranger, and grandchildren are reached too.
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
  /// Starts the guard. `grace`: between SIGTERM and SIGKILL, should this process end and others not. Throws
  /// spmd::Error.
  explicit ProcessGroup(std::chrono::milliseconds grace);
  /// Kills what is left, guard included.
  ~ProcessGroup();
  ProcessGroup(const ProcessGroup &) = delete;
  ProcessGroup &operator=(const ProcessGroup &) = delete;

  struct Child {
    std::vector<std::string> command;     ///< The program is looked for in PATH if it has no slash.
    std::vector<std::string> environment; ///< `NAME=value`.
    int standardOutput = -1;              ///< -1: this process's.
    int standardError = -1;
    std::vector<int> inherit; ///< Descriptors that it keeps, by their numbers.
  };

  /// Starts a child in the group; its standard input is /dev/null, all signals are as the system has them at first.
  /// It dies with the calling thread. Throws spmd::Error if the program cannot be executed.
  pid_t start(const Child &child);

  /// To all children, and theirs.
  void signal(int number);

private:
  pid_t guard = -1;
  UniqueFd lifeline; ///< The guard sees it close.
};

} // namespace spmd::coordinator
