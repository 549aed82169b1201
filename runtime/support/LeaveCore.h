//===- LeaveCore.h - two threads that compute together on two cores -------===//
#pragma once

#include <chrono>
#include <sched.h>

namespace spmd {

/// Moves the calling thread to another core if it is on `core`, on which a thread runs that it is to run beside; -1:
/// none. The scheduler leaves a thread there that spins, and may wake it there although the other core is idle: on two
/// cores it does not look for an idle one while they are busy (`nr_idle_scan` in Linux). A thread that may use no other
/// core stays.
inline void leaveCore(int core) {
  if (core < 0 || core != sched_getcpu())
    return;
  using Clock = std::chrono::steady_clock;
  thread_local Clock::time_point next;
  Clock::time_point now = Clock::now();
  if (now < next)
    return;
  next = now + std::chrono::milliseconds(10);
  cpu_set_t allowed, others;
  if (sched_getaffinity(0, sizeof allowed, &allowed) != 0)
    return;
  others = allowed;
  CPU_CLR(core, &others);
  if (CPU_COUNT(&others) > 0 && sched_setaffinity(0, sizeof others, &others) == 0)
    sched_setaffinity(0, sizeof allowed, &allowed);
}

} // namespace spmd
