//===- OutputThread.h - writes without waiting for who reads ----*- C++ -*-===//
#pragma once

#include "runtime/support/BackgroundQueue.h"

#include <atomic>
#include <string>

namespace spmd::coordinator {

/// Writes to one of this process's own outputs, on a thread of its own: whoever reads them (a pager, a full pipe) may
/// take his time, while the launcher watches its processes. Its end waits until all has been written, or nobody reads
/// any more.
class OutputThread {
public:
  explicit OutputThread(int target);

  /// Never waits. Throws spmd::Error where the system gives no thread.
  void add(std::string bytes);
  /// Whether so much waits to be read that no more is to be added.
  bool isFull() const { return unwrittenBytes >= capacity; }
  size_t countUnwritten() const { return unwrittenBytes; }
  /// Why something could not be written (an errno), or 0; that nobody reads any more is none.
  int getProblem() const { return problem; }

private:
  static constexpr size_t capacity = size_t(1) << 20;

  std::atomic<size_t> unwrittenBytes{0};
  std::atomic<int> problem{0};
  BackgroundQueue<std::string> texts;
};

} // namespace spmd::coordinator
