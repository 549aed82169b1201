//===- WorkQueueTest.cpp - who runs a device's work, and when -------------===//

#include "runtime/device/cpu/WorkQueue.h"
#include "runtime/support/BackgroundThread.h"

#include <cfenv>
#include <cfloat>
#include <future>
#include <gtest/gtest.h>
#include <random>
#include <thread>
#include <vector>

using namespace spmd;

namespace {

/// A queue with its thread, as a device has it.
struct Queue {
  WorkQueue work{/*hasOwnCore=*/true};
  BackgroundThread thread{"spmd-test", [this] { work.runUntilStopped(); }};
  ~Queue() { work.stop(); }

  /// Pushes work and waits for it, as a caller does. Returns the thread that ran it.
  std::thread::id callAndWait(const std::function<void()> &body = [] {}) {
    std::atomic<bool> isDone{false};
    std::thread::id ran;
    work.push([&] {
      body();
      ran = std::this_thread::get_id();
      isDone = true;
    });
    work.runHere([&] { return isDone.load(); });
    while (!isDone)
      std::this_thread::yield();
    return ran;
  }

  /// Calls and waits until the queue lets this thread run the work.
  bool learns() {
    for (int i = 0; i < 100'000; ++i)
      if (callAndWait() == std::this_thread::get_id())
        return true;
    return false;
  }
};

TEST(WorkQueue, LetsACallerThatWaitsRunItsWork) {
  Queue queue;
  ASSERT_TRUE(queue.learns());
  // From then on nearly always; a caller that loses its core for long may find that the device's thread has begun.
  int own = 0;
  for (int i = 0; i < 1000; ++i)
    own += queue.callAndWait() == std::this_thread::get_id();
  EXPECT_GT(own, 500);
}

TEST(WorkQueue, StartsWorkThatNobodyWaitsFor) {
  Queue queue;
  ASSERT_TRUE(queue.learns());
  for (int i = 0; i < 20; ++i) {
    std::promise<std::thread::id> ran;
    queue.work.push([&] { ran.set_value(std::this_thread::get_id()); });
    EXPECT_NE(ran.get_future().get(), std::this_thread::get_id());
  }
}

// A caller that waits for the first of two launches returns after it, and the second one is run all the same.
TEST(WorkQueue, LeavesLaterWorkToTheDevice) {
  Queue queue;
  ASSERT_TRUE(queue.learns());
  std::atomic<bool> first{false};
  std::promise<std::thread::id> second;
  queue.work.push([&] { first = true; });
  queue.work.push([&] { second.set_value(std::this_thread::get_id()); });
  queue.work.runHere([&] { return first.load(); });
  EXPECT_NE(second.get_future().get(), std::this_thread::get_id());
  EXPECT_TRUE(first);
}

// Threads call, wait or do not wait in a random order: one task at a time, each thread's in its order.
TEST(WorkQueue, KeepsTheOrderWhoeverRunsIt) {
  const char *given = std::getenv("SPMD_SEED");
  unsigned seed = given ? static_cast<unsigned>(std::strtoul(given, nullptr, 10)) : 20261128u;
  SCOPED_TRACE("SPMD_SEED=" + std::to_string(seed));
  constexpr int callers = 3, calls = 3000;
  std::atomic<int> running{0};
  std::atomic<bool> overlaps{false};
  std::vector<std::vector<int>> order(callers);
  {
    Queue queue;
    std::vector<std::thread> threads;
    for (int caller = 0; caller < callers; ++caller)
      threads.emplace_back([&, caller] {
        std::mt19937 random(seed + static_cast<unsigned>(caller));
        for (int i = 0; i < calls; ++i) {
          auto body = [&, caller, i] {
            overlaps = overlaps || running.fetch_add(1) != 0;
            order[caller].push_back(i);
            running.fetch_sub(1);
          };
          if (random() % 2)
            queue.callAndWait(body);
          else
            queue.work.push(body);
          if (random() % 64 == 0)
            std::this_thread::sleep_for(std::chrono::microseconds(random() % 200));
        }
      });
    for (std::thread &thread : threads)
      thread.join();
  } // The rest is run before the queue ends.
  EXPECT_FALSE(overlaps);
  for (const std::vector<int> &numbers : order) {
    ASSERT_EQ(numbers.size(), size_t(calls));
    for (int i = 0; i < calls; ++i)
      ASSERT_EQ(numbers[i], i);
  }
}

/// Half of the smallest normal number; 0 in a thread that flushes subnormal numbers.
float halfOfSmallest() {
  volatile float smallest = FLT_MIN;
  return smallest * 0.5f;
}

// The application may round upwards and flush subnormal numbers; a program's bits do not depend on that.
TEST(WorkQueue, ComputesInTheDefaultFloatEnvironment) {
  fenv_t before;
  fegetenv(&before);
  __builtin_ia32_ldmxcsr(__builtin_ia32_stmxcsr() | 0x8040);
  fesetround(FE_UPWARD);
  EXPECT_EQ(halfOfSmallest(), 0.0f);
  {
    Queue queue; // Its thread is started in that environment.
    auto isDefault = [] { return halfOfSmallest() > 0.0f && fegetround() == FE_TONEAREST; };
    std::promise<bool> byDevice;
    queue.work.push([&] { byDevice.set_value(isDefault()); });
    EXPECT_TRUE(byDevice.get_future().get());
    bool byCaller = false;
    for (int i = 0; i < 100'000 && !byCaller; ++i) {
      bool holds = false;
      byCaller = queue.callAndWait([&] { holds = isDefault(); }) == std::this_thread::get_id();
      ASSERT_TRUE(holds);
    }
    EXPECT_TRUE(byCaller);
  }
  EXPECT_EQ(fegetround(), FE_UPWARD);
  EXPECT_EQ(halfOfSmallest(), 0.0f);
  fesetenv(&before);
}

} // namespace
