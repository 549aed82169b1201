//===- NoticeThread.h - tells people without waiting for them ---*- C++ -*-===//
#pragma once

#include "runtime/coordinator/Client.h"
#include "runtime/support/BackgroundQueue.h"

#include <functional>

namespace spmd::coordinator {

/// Passes notices on, on a thread of its own: whoever reads them (a pager, a full pipe) may take his time, while
/// heartbeats go on. Of a reader who is far behind, the newest are dropped. Its end waits until all have been passed
/// on.
class NoticeThread {
public:
  explicit NoticeThread(std::function<void(const Notice &)> tell) : isHeard(tell), notices("spmd-notices", tell) {}

  /// Never waits.
  void add(Notice notice);

private:
  static constexpr size_t capacity = 64;

  const bool isHeard;
  BackgroundQueue<Notice> notices;
};

} // namespace spmd::coordinator
