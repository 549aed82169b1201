//===- OutputThread.h - writes without waiting for who reads ----*- C++ -*-===//
#pragma once

#include "runtime/support/BackgroundThread.h"

#include <condition_variable>
#include <deque>
#include <mutex>
#include <string>

namespace spmd::coordinator {

/// Writes to one of this process's own outputs, on a thread of its own: whoever reads them (a pager, a full pipe) may
/// take his time, while the launcher watches its processes. The thread is there from the first bytes on.
class OutputThread {
public:
  explicit OutputThread(int target) : target(target) {}
  /// Returns when all has been written, or nobody reads any more.
  ~OutputThread();

  /// Never waits. Throws spmd::Error where the system gives no thread.
  void add(std::string bytes);
  /// Whether so much waits to be read that no more is to be added.
  bool isFull() const;

private:
  void run();

  const int target;
  mutable std::mutex mutex;
  std::condition_variable changed;
  std::deque<std::string> waiting;
  size_t waitingBytes = 0;
  bool ending = false;
  BackgroundThread thread;
};

} // namespace spmd::coordinator
