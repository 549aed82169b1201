#include "runtime/support/ParallelLoop.h"

#include "tests/support/FewThreads.h"

#include <atomic>
#include <gtest/gtest.h>
#include <set>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

using spmd::forEachInParallel;

namespace {

TEST(ParallelLoop, CallsEachIndexOnce) {
  for (size_t count : {0, 1, 2, 1000}) {
    std::vector<std::atomic<int>> calls(count);
    forEachInParallel(count, [&](size_t i) { ++calls[i]; });
    for (size_t i = 0; i < count; ++i)
      EXPECT_EQ(calls[i], 1) << i << " of " << count;
  }
}

TEST(ParallelLoop, CallsMayContainLoops) {
  std::atomic<int> calls = 0;
  forEachInParallel(8, [&](size_t) { forEachInParallel(8, [&](size_t) { ++calls; }); });
  EXPECT_EQ(calls, 64);
}

TEST(ParallelLoop, ThrowsWhatTheFirstIndexThrewAndBeginsNoFurtherCall) {
  std::atomic<int> calls = 0;
  try {
    forEachInParallel(100000, [&](size_t i) {
      ++calls;
      throw std::runtime_error("index " + std::to_string(i));
    });
    FAIL() << "nothing was thrown";
  } catch (const std::runtime_error &error) {
    EXPECT_STREQ(error.what(), "index 0");
  }
  EXPECT_LT(calls, 100000);
}

TEST(ParallelLoop, WithoutFurtherThreadsTheCallerDoesItAll) {
  spmd::test::FewThreads none(0);
  std::set<std::thread::id> threads;
  size_t calls = 0;
  forEachInParallel(10, [&](size_t) {
    threads.insert(std::this_thread::get_id());
    ++calls;
  });
  EXPECT_EQ(threads, std::set{std::this_thread::get_id()});
  EXPECT_EQ(calls, 10u);
}

} // namespace
