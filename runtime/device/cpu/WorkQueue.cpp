//===- WorkQueue.cpp - the work of one device, in order -------------------===//

#include "runtime/device/cpu/WorkQueue.h"
#include "runtime/support/FloatEnvironment.h"
#include "runtime/support/Futex.h"
#include "runtime/support/LeaveCore.h"

#include <algorithm>

namespace spmd {
namespace {

using std::chrono::microseconds;

/// A caller that waits later than this after its call does something else meanwhile. Making the arrays of the results
/// takes a microsecond or two; this allows for a core that is given away once.
constexpr microseconds kPrompt{20};
/// How long work waits for the caller that is expected to run it, and how often the device's thread looks. A call
/// without such a caller begins a millisecond late, once. Looking takes a core 5 to 15 us.
constexpr microseconds kPatience{100}, kPollTime{1000};
/// The device's thread stops looking when there was no call for so long: the next call wakes it.
constexpr microseconds kPollFor{10'000};

} // namespace

void WorkQueue::push(Work work) {
  std::unique_lock lock(mutex);
  lastPush = Clock::now();
  queue.push_back({std::move(work), lastPush});
  ++pushedSinceWait;
  pushersCore = sched_getcpu();
  announce(lock, /*wakesPoller=*/false);
}

void WorkQueue::stop() {
  std::unique_lock lock(mutex);
  stopping = true;
  announce(lock, /*wakesPoller=*/true);
}

/// Lets the device's thread look at the queue. Releases the lock first, so that a woken thread finds it free.
void WorkQueue::announce(std::unique_lock<std::mutex> &lock, bool wakesPoller) {
  changes.fetch_add(1);
  bool wakes = resting == Rest::Sleeping || (resting == Rest::Polling && wakesPoller);
  lock.unlock();
  if (wakes)
    futexWakeAll(changes);
}

/// Learns whether callers wait at once.
void WorkQueue::noteWait() {
  bool isPrompt = pushedSinceWait == 1 && Clock::now() - lastPush < kPrompt;
  promptWaits = isPrompt ? std::min(promptWaits + 1, kExpectAfter) : std::min(promptWaits, 0);
  pushedSinceWait = 0;
}

void WorkQueue::runHere(const std::function<bool()> &isOver) {
  std::unique_lock lock(mutex);
  noteWait();
  if (isRunning || queue.empty() || isOver())
    return;
  DefaultFloatEnvironment environment;
  while (!isRunning && !queue.empty() && !isOver())
    runFront(lock);
  if (!isRunning && (stopping || !queue.empty()))
    announce(lock, /*wakesPoller=*/true);
}

void WorkQueue::runFront(std::unique_lock<std::mutex> &lock) {
  isRunning = true;
  Work work = std::move(queue.front().work);
  queue.pop_front();
  lock.unlock();
  work();
  work = nullptr; // Outside the lock: its captures may take long to destroy, or push.
  lock.lock();
  isRunning = false;
}

/// Whether the device's thread may run the first entry now.
bool WorkQueue::mayTake() {
  if (isRunning || queue.empty())
    return false;
  if (!expectsWaiter() || stopping)
    return true;
  if (Clock::now() - queue.front().pushed < kPatience)
    return false;
  promptWaits -= kMissed;
  return true;
}

void WorkQueue::runUntilStopped() {
  std::unique_lock lock(mutex);
  while (!stopping || isRunning || !queue.empty())
    if (mayTake())
      runFront(lock);
    else
      rest(lock);
}

/// Returns when there may be something to do.
void WorkQueue::rest(std::unique_lock<std::mutex> &lock) {
  uint32_t seen = changes.load();
  int core = hasOwnCore ? pushersCore : -1;
  bool polls = expectsWaiter() && Clock::now() - lastPush < kPollFor;
  if (!polls) {
    lock.unlock();
    leaveCore(core);
    bool isNew = spinUntil([&] { return changes.load(std::memory_order_acquire) != seen; }, spinTime);
    lock.lock();
    if (isNew)
      return;
  }
  resting = polls ? Rest::Polling : Rest::Sleeping;
  lock.unlock();
  futexWait(changes, seen, polls ? kPollTime : std::chrono::seconds(1));
  lock.lock();
  resting = Rest::None;
}

} // namespace spmd
