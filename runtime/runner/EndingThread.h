//===- EndingThread.h - ending a process whose job is over ------*- C++ -*-===//
#pragma once

#include <atomic>
#include <functional>

namespace spmd {

/// Decides which thread ends a process whose job is over. Usually the program's thread does, as soon as it learns of
/// the verdict. If it cannot (it is stuck in a file or in a pipe without a reader), the thread that received the
/// verdict ends the process, so that no process outlives its job. The first of them to call does it alone.
class EndingThread {
public:
  /// To be called before the program reports an error and ends. Does not return if another thread ends the process
  /// already.
  void begin();
  /// For another thread: calls `tell` and exits with that status; returns if the program is already ending. `tell` may
  /// block, because it writes to the same streams as the program: it has one second.
  void endInstead(int status, const std::function<void()> &tell);

private:
  std::atomic<bool> hasBegun{false};
};

} // namespace spmd
