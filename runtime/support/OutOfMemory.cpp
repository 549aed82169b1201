//===- OutOfMemory.cpp - reports of exhausted memory ----------------------===//

#include "runtime/support/OutOfMemory.h"

#include <atomic>
#include <cstdlib>

namespace spmd {
namespace {

/// Messages, frames and log lines of a failure take some KiB. From 128 KiB on glibc returns freed memory to the system,
/// so that any thread can allocate it.
constexpr size_t reserveBytes = size_t(1) << 20;

std::atomic<void *> reserve{nullptr};

const std::string text = "the system gives this process no more memory; raise its limit (ulimit -v, ulimit -d, the "
                         "container's), or use more hosts, a finer sharding or a smaller program";

} // namespace

void keepMemoryReserve() noexcept {
  if (reserve.load(std::memory_order_relaxed))
    return;
  void *fresh = std::malloc(reserveBytes), *none = nullptr;
  if (!reserve.compare_exchange_strong(none, fresh))
    std::free(fresh);
}

void releaseMemoryReserve() noexcept { std::free(reserve.exchange(nullptr)); }

const std::string &noMemoryText() noexcept { return text; }

} // namespace spmd
