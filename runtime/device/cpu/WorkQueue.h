//===- WorkQueue.h - the work of one device, in order -----------*- C++ -*-===//
//
// A device runs its work in order, one task at a time. Usually the device's thread does. A thread that calls a program
// and waits for it at once runs the work itself: handing a short program over and back takes longer than the program,
// and three threads on two cores (the caller, the device and its helper) delay one another.
//
// The device's thread therefore learns what the callers do. After a few calls in a row that were waited for at once, it
// neither spins nor is woken for the next one, and looks only now and then for work that has not begun.
//
//===----------------------------------------------------------------------===//
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <mutex>

namespace spmd {

/// All members are thread-safe.
class WorkQueue {
public:
  using Work = std::function<void()>;

  /// `hasOwnCore`: whether there is a core for each device of this host.
  explicit WorkQueue(bool hasOwnCore) : hasOwnCore(hasOwnCore) {}

  /// Queues work, which must not throw.
  void push(Work work);

  /// For a thread that waits for queued work: runs it in the place of the device's thread, in order, until `isOver`
  /// returns true or none is left. Returns at once if another thread is running work.
  void runHere(const std::function<bool()> &isOver);

  /// The body of the device's thread: returns when stop() was called and no work is left.
  void runUntilStopped();
  void stop();

private:
  using Clock = std::chrono::steady_clock;
  struct Entry {
    Work work;
    Clock::time_point pushed;
  };
  enum class Rest : uint8_t {
    None,    ///< Awake, or about to look at the queue again.
    Polling, ///< Asleep for a short time: a thread that waits is expected to run the next work.
    Sleeping ///< Asleep until it is woken.
  };

  void noteWait();
  bool expectsWaiter() const { return promptWaits == kExpectAfter; }
  bool mayTake();
  void runFront(std::unique_lock<std::mutex> &lock);
  void rest(std::unique_lock<std::mutex> &lock);
  void announce(std::unique_lock<std::mutex> &lock, bool wakesPoller);

  /// Waits at once, in a row, after which the next one is expected: a few, so that a loop of calls is recognized soon.
  static constexpr int kExpectAfter = 4;
  /// Subtracted when work waited in vain, so that a caller that waits later now and then loses little.
  static constexpr int kMissed = 16;

  const bool hasOwnCore;
  std::mutex mutex;
  std::deque<Entry> queue;          ///< Guarded by mutex, as all that follow except `changes`.
  bool isRunning = false;           ///< Whether some thread runs work.
  bool stopping = false;            ///< Whether stop() was called.
  Rest resting = Rest::None;        ///< How the device's thread rests.
  int promptWaits = 0;              ///< Calls in a row that were waited for at once, at most kExpectAfter.
  int64_t pushedSinceWait = 0;      ///< Work since the last call of runHere.
  Clock::time_point lastPush;       ///< When work was last queued.
  int pushersCore = -1;             ///< Where the thread ran that last queued work.
  std::atomic<uint32_t> changes{0}; ///< Counts what the device's thread should look at; a futex.
};

} // namespace spmd
