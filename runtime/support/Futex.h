//===- Futex.h - wait for a word of memory to change ------------*- C++ -*-===//
//
// Spins briefly, then sleeps in the kernel. The words may be in memory that processes share.
//
//===----------------------------------------------------------------------===//
#pragma once

#include <atomic>
#include <chrono>
#include <climits>
#include <cstdint>
#include <linux/futex.h>
#include <sched.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

namespace spmd {

static_assert(sizeof(std::atomic<uint32_t>) == 4 && std::atomic<uint32_t>::is_always_lock_free);

/// Sleeps while `word` equals `expected`, at most `timeout`; may return early.
inline void futexWait(const std::atomic<uint32_t> &word, uint32_t expected, std::chrono::nanoseconds timeout) {
  timespec limit{static_cast<time_t>(timeout.count() / 1'000'000'000),
                 static_cast<long>(timeout.count() % 1'000'000'000)};
  syscall(SYS_futex, &word, FUTEX_WAIT, expected, &limit, nullptr, 0);
}

inline void futexWakeAll(std::atomic<uint32_t> &word) {
  syscall(SYS_futex, &word, FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0);
}

inline void cpuRelax() { __builtin_ia32_pause(); }

/// Calls `isReady` until it returns true or about `limit` has passed; returns its last result. Gives the core away
/// every one or two microseconds, because the thread that it waits for may need it: two devices and their caller on two
/// cores otherwise take 50 us to launch a program, and 6 with it.
template <typename Predicate> bool spinUntil(Predicate &&isReady, std::chrono::nanoseconds limit) {
  if (isReady())
    return true;
  if (limit.count() == 0)
    return false;
  auto end = std::chrono::steady_clock::now() + limit;
  do {
    for (int i = 0; i < 32; ++i) {
      if (isReady())
        return true;
      cpuRelax();
    }
    sched_yield();
  } while (std::chrono::steady_clock::now() < end);
  return isReady();
}

/// How long spinning before a sleep is worthwhile. A sleep and a wake-up cost about 10 us, also where more threads than
/// cores compete, because a thread that spins gives its core away (benchmarks/RESULTS.md).
constexpr std::chrono::nanoseconds spinTime{30'000};

} // namespace spmd
