//===- NotificationThread.h - the notification thread -----------------*- C++ -*-===//
#pragma once

#include "runtime/coordinator/Client.h"
#include "runtime/support/BackgroundQueue.h"

#include <functional>

namespace spmd::coordinator {

/// Passes notices on, on a thread of its own: a slow reader (a pager, a full pipe) does not delay heartbeats. If too
/// many wait, the newest are dropped. The destructor waits until all have been passed on.
class NotificationThread {
public:
  explicit NotificationThread(std::function<void(const Notice &)> tell)
      : isHeard(tell), notices("spmd-notices", tell) {}

  /// Never waits.
  void add(Notice notice);

private:
  static constexpr size_t capacity = 64;

  const bool isHeard;
  BackgroundQueue<Notice> notices;
};

} // namespace spmd::coordinator
