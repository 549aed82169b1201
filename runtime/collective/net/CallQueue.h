//===- CallQueue.h - order of a device's calls between hosts ----*- C++ -*-===//
//
// Runs the calls of one device between hosts, one at a time, in the order in which they were started. All devices start
// their calls in the same order, so each message meets the call that expects it. The thread that waits for a call runs
// it and all calls before it. Asynchronous calls (CallSite::isAsync), which must progress whatever the device does, run
// on the queue's own thread, which starts with the first of them. The computations of that thread take at most a
// quarter of the device's threads, because those have work. NCCL's proxy threads do the same for GPUs.
//
// There is no deadlock: a call that is not asynchronous ends where it starts, and the first call that is started and
// not over runs on all its devices, either on the queue's thread or on the thread that waits for it.
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

/// `add`, `wait` and `settle` are called on the device's thread only.
class CallQueue {
public:
  /// `deviceThreads`: the number of threads of the device.
  explicit CallQueue(int deviceThreads) : threads(std::max(1, deviceThreads / 4)) {}
  ~CallQueue();

  /// If `isAsync`, this call and all calls before it start at once, whatever the device's thread does.
  void add(NetCall &call, bool isAsync);
  /// Returns when the call is over. Throws spmd::Error if it or a call before it failed; no call runs after that.
  void wait(NetCall &call, ParallelFor &loop);
  /// Drops the calls that have not begun, and returns when the running call is over. No call runs after that.
  void settle();

private:
  void serve();
  /// Runs the first call with the lock released. `lock` is held before and after.
  void runFirst(std::unique_lock<std::mutex> &lock, ParallelFor &loop);
  bool contains(const NetCall &call) const;

  std::mutex mutex;
  std::condition_variable changed;
  std::deque<NetCall *> calls; ///< A running call is still the first.
  bool isRunning = false;
  size_t asyncCalls = 0; ///< Number of calls, from the first, that the queue's thread runs.
  std::optional<Error> failure;
  bool stopping = false;
  const int threads; ///< Threads of loops in calls that the queue's thread runs.
  BackgroundThread thread;
};

} // namespace spmd::net
