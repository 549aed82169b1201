//===- ParallelFor.h - one device's parallel loops --------------*- C++ -*-===//
//
// Kernels are functions of a range; ParallelFor distributes a range over the threads of one device. A device often has
// one thread: then it is a plain call. The split of a range never changes bits, because every iteration is computed
// independently. The helpers spin briefly after a loop, then sleep, so that devices which share cores do not delay one
// another.
//
// A loop ends as soon as its chunks are done. It does not wait for helpers that have taken none: on cores that other
// processes use, too, a helper may get its core only after some milliseconds, and a program has hundreds of loops. So
// helpers join through a gate, which the caller closes when no chunks are left.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/support/BackgroundThread.h"
#include "runtime/support/Futex.h"

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <type_traits>
#include <vector>

namespace spmd {

/// The calling convention of generated kernels (Plan.h).
using KernelFunction = void (*)(int64_t begin, int64_t end, void *const *buffers, const int64_t *coordinates);

/// Called between chunks of work; returns true if the rest is not needed any more.
struct StopCheck {
  bool (*function)(const void *context) = nullptr;
  const void *context = nullptr;
  bool operator()() const { return function && function(context); }
};

class ParallelFor {
public:
  /// `threads` includes the caller's; `spin` is how long an idle helper waits before it sleeps.
  ParallelFor(int threads, std::chrono::nanoseconds spin);
  ~ParallelFor();
  ParallelFor(const ParallelFor &) = delete;
  ParallelFor &operator=(const ParallelFor &) = delete;

  int getThreadCount() const { return static_cast<int>(helpers.size()) + 1; }

  /// Runs body(begin, end, thread) over [0, extent), in chunks of at least `grain` iterations except the last. `thread`
  /// counts from 0 and selects scratch memory. One thread calls it at a time. `body` must not throw.
  template <typename Body> void run(int64_t extent, int64_t grain, const Body &body) {
    if (helpers.empty() || extent <= grain)
      return runAlone(extent, std::max((extent + aloneChunks - 1) / aloneChunks, grain), body);
    runOnAll(
        extent, grain,
        [](const void *context, int64_t begin, int64_t end, int thread) {
          (*static_cast<const Body *>(context))(begin, end, thread);
        },
        &body);
  }

  /// From now on loops end early, with iterations left undone, as soon as the check returns true. The caller must
  /// repeat the check after each loop.
  void setStopCheck(StopCheck check) { stop = check; }
  bool shouldStop() const { return stop(); }

  /// `grain` is the number of iterations that take some 5 us. On one thread a kernel stops only after 256 times as
  /// many: in short ranges of a sum over rows it would read a few lines from each page.
  void runKernel(KernelFunction kernel, int64_t extent, int64_t grain, void *const *buffers,
                 const int64_t *coordinates) {
    auto body = [=](int64_t begin, int64_t end, int) { kernel(begin, end, buffers, coordinates); };
    if (helpers.empty())
      return runAlone(extent, grain > extent / 256 ? extent : 256 * grain, body);
    run(extent, grain, body);
  }

private:
  using Thunk = void (*)(const void *context, int64_t begin, int64_t end, int thread);

  void runOnAll(int64_t extent, int64_t grain, Thunk thunk, const void *context);
  void takeChunks(int thread);
  /// Enters the current loop, whose fields may then be read until `leave`; false if it has no chunks left.
  bool join();
  void leave();
  void helperMain(int thread);
  void stopHelpers();

  /// Runs a loop on the calling thread. It can stop after every `chunk` iterations.
  template <typename Body> void runAlone(int64_t extent, int64_t chunk, const Body &body) {
    chunk = stop.function ? std::max<int64_t>(chunk, 1) : extent;
    for (int64_t begin = 0; begin < extent && !stop(); begin += chunk)
      body(begin, std::min(begin + chunk, extent), 0);
  }

  /// Parts of a loop on one thread, which can stop between them.
  static constexpr int64_t aloneChunks = 64;

  const std::chrono::nanoseconds spin;
  StopCheck stop;
  std::vector<BackgroundThread> helpers;

  /// Values of `gate`: whether helpers may join the loop, and the unit in which those that have joined are counted.
  static constexpr uint32_t kOpen = 1, kHelper = 2;

  // The current loop; written while `gate` is 0.
  Thunk thunk = nullptr;
  const void *context = nullptr;
  int64_t extent = 0, chunk = 0;
  std::atomic<int> callersCore{-1}; ///< The core that began the last loop.
  alignas(64) std::atomic<int64_t> next{0};
  alignas(64) std::atomic<uint32_t> generation{0};
  std::atomic<uint32_t> sleepers{0};
  alignas(64) std::atomic<uint32_t> gate{0};
  std::atomic<bool> callerSleeps{false}, stopping{false};
};

} // namespace spmd
