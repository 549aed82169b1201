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

/// Calls `isReady` until it returns true or about `limit` has passed; returns its last result.
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
  } while (std::chrono::steady_clock::now() < end);
  return isReady();
}

/// Returns how long spinning before a sleep is worthwhile when `runners` threads compete for these cores. A sleep and a
/// wake-up cost about 10 us, but a thread that spins on a core that another thread needs delays the event that it waits
/// for.
inline std::chrono::nanoseconds spinLimit(int runners, int cores) {
  return std::chrono::nanoseconds(runners <= cores ? 30'000 : 0);
}

} // namespace spmd
