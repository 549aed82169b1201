//===- BackgroundQueue.h - work of a background thread ----------*- C++ -*-===//
#pragma once

#include "runtime/support/BackgroundThread.h"

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <string>

namespace spmd {

/// A BackgroundThread handles the items in the order in which they were added, so that the thread that adds an item
/// never waits for the handling. The background thread starts with the first item. All members are thread-safe.
template <typename Item> class BackgroundQueue {
public:
  /// `handle` must not throw.
  BackgroundQueue(std::string threadName, std::function<void(Item)> handle)
      : threadName(std::move(threadName)), handle(std::move(handle)) {}
  BackgroundQueue(const BackgroundQueue &) = delete;
  BackgroundQueue &operator=(const BackgroundQueue &) = delete;
  /// Returns when all items have been handled; items for which no thread could be started are dropped.
  ~BackgroundQueue() {
    {
      std::lock_guard lock(mutex);
      ending = true;
    }
    changed.notify_all();
    thread.join();
  }

  /// Throws spmd::Error if the system cannot start a thread; the item is kept then, and the next call tries again.
  void add(Item item) {
    std::lock_guard lock(mutex);
    waiting.push_back(std::move(item));
    changed.notify_all();
    if (!thread.joinable())
      thread = BackgroundThread(threadName, [this] { run(); });
  }
  /// The number of items whose handling has not begun.
  size_t countWaiting() const {
    std::lock_guard lock(mutex);
    return waiting.size();
  }

private:
  void run() {
    std::unique_lock lock(mutex);
    for (;;) {
      changed.wait(lock, [&] { return ending || !waiting.empty(); });
      if (waiting.empty())
        return;
      Item item = std::move(waiting.front());
      waiting.pop_front();
      lock.unlock();
      handle(std::move(item));
      lock.lock();
    }
  }

  const std::string threadName;
  const std::function<void(Item)> handle;
  mutable std::mutex mutex;
  std::condition_variable changed;
  std::deque<Item> waiting;
  bool ending = false;
  BackgroundThread thread;
};

} // namespace spmd
