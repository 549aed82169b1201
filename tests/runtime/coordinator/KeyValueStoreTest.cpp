// The job's store, without a network.

#include "runtime/coordinator/KeyValueStore.h"

#include <gmock/gmock.h>

using namespace spmd;
using namespace spmd::coordinator;
using namespace std::chrono_literals;
using testing::HasSubstr;

namespace {

TEST(StateMachine, StoreQuotasHold) {
  KeyValueStore store({3, 100, 2});
  std::vector<Answer> answers;
  TimePoint now = TimePoint() + 1s;
  for (int i = 0; i != 4; ++i)
    store.set({0, 1}, "k" + std::to_string(i), "v", answers);
  EXPECT_TRUE(answers[2].ok);
  EXPECT_FALSE(answers[3].ok);
  EXPECT_THAT(answers[3].text, HasSubstr("store is full (3 keys"));
  store.removePrefix({0, 1}, "k", answers);
  answers.clear();
  store.set({0, 1}, "k", std::string(100, 'v'), answers);
  EXPECT_FALSE(answers[0].ok); // The key counts too.
  store.set({0, 1}, "k", std::string(99, 'v'), answers);
  EXPECT_TRUE(answers[1].ok);
  answers.clear();
  for (uint64_t i = 0; i != 3; ++i)
    store.wait(1, {i, "w", 0, 5000, ""}, answers, now);
  ASSERT_EQ(answers.size(), 1u);
  EXPECT_THAT(answers[0].text, HasSubstr("too many threads"));
  EXPECT_EQ(store.nextDeadline(), now + 5s);
  answers.clear();
  EXPECT_EQ(store.takeExpired(now + 5s).size(), 2u);
  EXPECT_EQ(store.nextDeadline(), never);
  store.wait(1, {9, "w", 0, 5000, ""}, answers, now); // Expired waits no longer count.
  EXPECT_TRUE(answers.empty());
}

} // namespace
