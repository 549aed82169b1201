//===- NoticeThread.h - tells people without waiting for them ---*- C++ -*-===//
#pragma once

#include "runtime/coordinator/Client.h"
#include "runtime/support/BackgroundThread.h"

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>

namespace spmd::coordinator {

/// Passes notices on, on a thread of its own: whoever reads them (a pager, a full pipe) may take his time, while
/// heartbeats go on. The thread is there from the first notice on. Of a reader who is far behind, the newest are
/// dropped.
class NoticeThread {
public:
  explicit NoticeThread(std::function<void(const Notice &)> tell) : tell(std::move(tell)) {}
  /// Returns when all have been passed on.
  ~NoticeThread();

  /// Never waits.
  void add(Notice notice);

private:
  static constexpr size_t capacity = 64;

  void run();

  const std::function<void(const Notice &)> tell;
  std::mutex mutex;
  std::condition_variable changed;
  std::deque<Notice> waiting;
  bool ending = false;
  BackgroundThread thread;
};

} // namespace spmd::coordinator
