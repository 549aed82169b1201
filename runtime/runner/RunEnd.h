//===- RunEnd.h - who ends a process whose job is over ----------*- C++ -*-===//
#pragma once

#include <atomic>
#include <functional>

namespace spmd {

/// The program does, as soon as it learns of the verdict. Where it does not (it is stuck in a file or in a pipe that
/// nobody reads), the thread that has heard the verdict does it in its place: a process of a job that is over must not
/// stay. Whoever comes first does it alone.
class RunEnd {
public:
  /// The program is about to tell of an error, and then to end. Does not return where that goes on already.
  void begin();
  /// For another thread: tells in the program's place and exits with that status; returns where the program has begun
  /// to. What is told may be stuck as well, for it goes where the program writes to: it has a second.
  void endInstead(int status, const std::function<void()> &tell);

private:
  std::atomic<bool> hasBegun{false};
};

} // namespace spmd
