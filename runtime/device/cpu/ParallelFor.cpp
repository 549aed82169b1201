//===- ParallelFor.cpp - one device's parallel loops ----------------------===//

#include "runtime/device/cpu/ParallelFor.h"
#include "runtime/support/LeaveCore.h"

namespace spmd {

ParallelFor::ParallelFor(int threads, std::chrono::nanoseconds spin) : spin(spin) {
  try {
    for (int i = 1; i < threads; ++i)
      helpers.emplace_back("spmd-loop", [this, i] { helperMain(i); });
  } catch (...) {
    stopHelpers();
    throw;
  }
}

ParallelFor::~ParallelFor() { stopHelpers(); }

void ParallelFor::stopHelpers() {
  stopping.store(true);
  generation.fetch_add(1);
  futexWakeAll(generation);
  helpers.clear();
}

void ParallelFor::takeChunks(int thread) {
  for (;;) {
    int64_t begin = next.fetch_add(chunk, std::memory_order_relaxed);
    if (begin >= extent || stop())
      return;
    thunk(context, begin, std::min(begin + chunk, extent), thread);
  }
}

bool ParallelFor::join() {
  uint32_t state = gate.load(std::memory_order_relaxed);
  while (state & kOpen)
    if (gate.compare_exchange_weak(state, state + kHelper, std::memory_order_acquire, std::memory_order_relaxed))
      return true;
  return false;
}

void ParallelFor::leave() {
  // Sequentially consistent, as in runOnAll: either the caller sees the change, or this thread sees that it sleeps.
  if (gate.fetch_sub(kHelper) == kHelper && callerSleeps.load())
    futexWakeAll(gate);
}

void ParallelFor::runOnAll(int64_t newExtent, int64_t grain, Thunk newThunk, const void *newContext) {
  thunk = newThunk;
  context = newContext;
  extent = newExtent;
  callersCore.store(sched_getcpu(), std::memory_order_relaxed);
  // A few chunks per thread balance the load on cores that other processes use, too.
  int64_t chunks = 4 * int64_t(getThreadCount());
  chunk = std::max<int64_t>({grain, (newExtent + chunks - 1) / chunks, 1});
  next.store(0, std::memory_order_relaxed);
  gate.store(kOpen, std::memory_order_release);
  generation.fetch_add(1);
  if (sleepers.load() != 0)
    futexWakeAll(generation);
  takeChunks(0);
  gate.fetch_and(~kOpen);
  auto isDone = [&] { return gate.load(std::memory_order_acquire) == 0; };
  while (!spinUntil(isDone, std::max<std::chrono::nanoseconds>(spin, std::chrono::microseconds(2)))) {
    callerSleeps.store(true);
    uint32_t left = gate.load();
    if (left != 0)
      futexWait(gate, left, std::chrono::milliseconds(20));
    callerSleeps.store(false);
  }
}

void ParallelFor::helperMain(int thread) {
  uint32_t seen = 0;
  for (;;) {
    auto isNew = [&] { return generation.load(std::memory_order_acquire) != seen; };
    leaveCore(callersCore.load(std::memory_order_relaxed));
    if (!spinUntil(isNew, spin)) {
      sleepers.fetch_add(1);
      while (!isNew())
        futexWait(generation, seen, std::chrono::seconds(1));
      sleepers.fetch_sub(1);
    }
    seen = generation.load(std::memory_order_acquire); // Loops that ended meanwhile are left out.
    if (stopping.load())
      return;
    leaveCore(callersCore.load(std::memory_order_relaxed));
    if (!join())
      continue;
    takeChunks(thread);
    leave();
  }
}

} // namespace spmd
