#include "runtime/support/BackgroundQueue.h"

#include "runtime/support/Error.h"
#include "tests/support/FewThreads.h"

#include <future>
#include <numeric>
#include <vector>

#include <gtest/gtest.h>

using spmd::BackgroundQueue;

namespace {

TEST(BackgroundQueue, HandlesAllInOrderBeforeItsEnd) {
  std::vector<int> handled, expected(1000);
  std::iota(expected.begin(), expected.end(), 0);
  {
    BackgroundQueue<int> queue("spmd-test", [&](int item) { handled.push_back(item); });
    for (int item : expected)
      queue.add(item);
  }
  EXPECT_EQ(handled, expected);
}

TEST(BackgroundQueue, AddsWhileTheHandlerWaits) {
  std::promise<void> begun, goOn;
  std::vector<std::string> handled;
  {
    BackgroundQueue<std::string> queue("spmd-test", [&](std::string item) {
      if (handled.empty()) {
        begun.set_value();
        goOn.get_future().wait();
      }
      handled.push_back(std::move(item));
    });
    EXPECT_EQ(queue.countWaiting(), 0u);
    queue.add("a");
    begun.get_future().wait();
    EXPECT_EQ(queue.countWaiting(), 0u);
    queue.add("b");
    queue.add("c");
    EXPECT_EQ(queue.countWaiting(), 2u);
    goOn.set_value();
  }
  EXPECT_EQ(handled, (std::vector<std::string>{"a", "b", "c"}));
}

TEST(BackgroundQueue, WithoutAThreadItemsWaitForTheNextTry) {
  std::vector<int> handled;
  {
    BackgroundQueue<int> queue("spmd-test", [&](int item) { handled.push_back(item); });
    {
      spmd::test::FewThreads none(0);
      EXPECT_THROW(queue.add(1), spmd::Error);
      EXPECT_EQ(queue.countWaiting(), 1u);
    }
    queue.add(2);
  }
  EXPECT_EQ(handled, (std::vector<int>{1, 2}));
}

} // namespace
