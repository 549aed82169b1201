//===- CallQueue.cpp - a device's collectives between hosts, one by one ---===//

#include "runtime/collective/net/CallQueue.h"
#include "runtime/collective/net/NetCall.h"

#include <algorithm>

namespace spmd::net {

CallQueue::~CallQueue() {
  {
    std::lock_guard lock(mutex);
    stopping = true;
  }
  changed.notify_all();
  thread.join();
}

void CallQueue::add(NetCall &call, bool isAsync) {
  {
    std::lock_guard lock(mutex);
    calls.push_back(&call);
    if (!isAsync)
      return;
    asyncCalls = calls.size();
    if (!thread.joinable())
      thread = BackgroundThread("spmd-calls", [this] { serve(); });
  }
  changed.notify_all();
}

void CallQueue::wait(NetCall &call, ParallelFor &loop) {
  std::unique_lock lock(mutex);
  while (!failure && contains(call)) {
    if (isRunning)
      changed.wait(lock);
    else
      runFirst(lock, loop);
  }
  if (failure)
    throw Error(failure->what(), failure->getKind());
}

void CallQueue::settle() {
  std::unique_lock lock(mutex);
  calls.resize(isRunning ? 1 : 0);
  asyncCalls = 0;
  changed.wait(lock, [&] { return !isRunning; });
  if (!failure)
    failure = Error("a run of the program failed while its collectives were in flight");
}

void CallQueue::serve() {
  ParallelFor loop(threads, std::chrono::nanoseconds(0));
  std::unique_lock lock(mutex);
  for (;;) {
    changed.wait(lock, [&] { return stopping || (asyncCalls > 0 && !isRunning && !failure); });
    if (stopping)
      return;
    runFirst(lock, loop);
  }
}

void CallQueue::runFirst(std::unique_lock<std::mutex> &lock, ParallelFor &loop) {
  isRunning = true;
  NetCall &call = *calls.front();
  lock.unlock();
  std::optional<Error> error;
  try {
    call.run(loop);
  } catch (const Error &thrown) {
    error = thrown;
  } catch (const std::exception &thrown) {
    error = Error(thrown.what());
  }
  lock.lock();
  isRunning = false;
  calls.pop_front();
  asyncCalls -= asyncCalls > 0;
  if (error && !failure)
    failure = std::move(error);
  changed.notify_all();
}

bool CallQueue::contains(const NetCall &call) const {
  return std::find(calls.begin(), calls.end(), &call) != calls.end();
}

} // namespace spmd::net
