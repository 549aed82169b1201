//===- CallQueue.h - a device's collectives between hosts, one by one -*- C++ -*-===//
//
// All devices start their calls in the same order, and in that order they run here, whenever they are waited for: so
// messages meet those that expect them. Who waits for a call runs it, and those before it. A call that is to go on
// whatever the device does is run by a thread of the queue's own, which there is once the first such call comes; what
// it computes takes a quarter of the device's threads at most, for they have work. As a proxy thread of NCCL does for a
// GPU.
//
// Nobody waits for ever: calls that are not for the thread end where they start (CallSite::isAsync), and of all that
// have been started and are not over, the first one is run on all its devices, by the thread or by who waits for it.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/device/cpu/ParallelFor.h"
#include "runtime/support/BackgroundThread.h"
#include "runtime/support/Error.h"

#include <algorithm>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <optional>

namespace spmd::net {

class NetCall;

/// `add`, `wait` and `settle` are for the device's thread.
class CallQueue {
public:
  /// Of a device with so many threads.
  explicit CallQueue(int deviceThreads) : threads(std::max(1, deviceThreads / 4)) {}
  ~CallQueue();

  /// `isAsync`: it and those before it begin at once, whatever the device's thread does.
  void add(NetCall &call, bool isAsync);
  /// Returns when the call is over. Throws spmd::Error where it, or one before it, failed: no call runs after that.
  void wait(NetCall &call, ParallelFor &loop);
  /// Forgets the calls that have not begun, and returns when the one that has is over. No call runs after that.
  void settle();

private:
  void serve();
  /// Runs the first call, with the lock open. `lock` is held before and after.
  void runFirst(std::unique_lock<std::mutex> &lock, ParallelFor &loop);
  bool contains(const NetCall &call) const;

  std::mutex mutex;
  std::condition_variable changed;
  std::deque<NetCall *> calls; ///< A call that is being run is still the first.
  bool isRunning = false;
  size_t asyncCalls = 0; ///< So many of the first are the thread's to run.
  std::optional<Error> failure;
  bool stopping = false;
  const int threads; ///< Of loops, where the queue's thread runs a call.
  BackgroundThread thread;
};

} // namespace spmd::net
