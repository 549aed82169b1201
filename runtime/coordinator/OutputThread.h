//===- OutputThread.h - writes without waiting for the reader ---*- C++ -*-===//
#pragma once

#include "runtime/support/BackgroundQueue.h"

#include <atomic>
#include <string>

namespace spmd::coordinator {

/// Writes to one of this process's own outputs, on a thread of its own: a slow reader (a pager, a full pipe) does not
/// delay the launcher, which watches its processes. The destructor waits until all has been written, or the reader is
/// gone.
class OutputThread {
public:
  explicit OutputThread(int target);

  /// Never waits. Throws spmd::Error if no thread can be started.
  void add(std::string bytes);
  /// Returns whether so many bytes wait for the reader that no more should be added.
  bool isFull() const { return unwrittenBytes >= capacity; }
  size_t countUnwritten() const { return unwrittenBytes; }
  /// Returns the errno of a failed write, or 0. A reader that is gone is no failure.
  int getProblem() const { return problem; }

private:
  static constexpr size_t capacity = size_t(1) << 20;

  std::atomic<size_t> unwrittenBytes{0};
  std::atomic<int> problem{0};
  BackgroundQueue<std::string> texts;
};

} // namespace spmd::coordinator
