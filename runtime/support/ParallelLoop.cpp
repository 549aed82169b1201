//===- ParallelLoop.cpp - a loop on all cores -----------------------------===//

#include "runtime/support/ParallelLoop.h"
#include "runtime/support/BackgroundThread.h"
#include "runtime/support/Error.h"
#include "runtime/support/Process.h"

#include <algorithm>
#include <atomic>
#include <exception>
#include <mutex>
#include <vector>

namespace spmd {

void forEachInParallel(size_t count, const std::function<void(size_t)> &work) {
  std::atomic<size_t> next = 0;
  std::mutex mutex;
  size_t failedIndex = count;
  std::exception_ptr failure;
  auto run = [&] {
    for (size_t i = next++; i < count; i = next++) {
      try {
        work(i);
      } catch (...) {
        next = count;
        std::lock_guard lock(mutex);
        if (i < failedIndex) {
          failedIndex = i;
          failure = std::current_exception();
        }
      }
    }
  };
  {
    std::vector<BackgroundThread> others;
    try {
      for (size_t threads = std::min(count, static_cast<size_t>(availableCores())); others.size() + 1 < threads;)
        others.emplace_back("spmd-parallel", run);
    } catch (const Error &) {
      // No thread was started: the others do its work.
    }
    run();
  }
  if (failure)
    std::rethrow_exception(failure);
}

} // namespace spmd
