//===- BarriersTest.cpp - barriers that end, and those that cannot --------===//

#include "runtime/coordinator/Barriers.h"

#include <gmock/gmock.h>

using namespace spmd::coordinator;
using testing::AllOf;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

namespace {

class BarriersTest : public testing::Test {
protected:
  std::vector<Answer> arrive(int32_t process, const std::string &name, bool isOnlyThread = true) {
    std::vector<Answer> answers;
    barriers.arrive({process, ++request}, name, isOnlyThread, never, answers, TimePoint());
    return answers;
  }

  uint64_t request = 0;
  Barriers barriers{3, [](int32_t process) { return "process " + std::to_string(process); }};
};

TEST_F(BarriersTest, TwoThatWaitForOneAnotherAreTold) {
  EXPECT_THAT(arrive(2, "a"), IsEmpty());
  EXPECT_THAT(arrive(0, "a"), IsEmpty());
  std::vector<Answer> answers = arrive(1, "b");
  ASSERT_THAT(answers, SizeIs(3));
  for (const Answer &answer : answers) {
    EXPECT_FALSE(answer.ok);
    EXPECT_EQ(answer.text, "barriers `a` and `b` cannot be reached: process 0 waits at the first, process 1 at the "
                           "second: all processes must reach the same barriers in the same order");
  }
  EXPECT_EQ(barriers.nextDeadline(), never);
  // No process waits any more, so another name works.
  EXPECT_THAT(arrive(0, "c"), IsEmpty());
  EXPECT_THAT(arrive(1, "c"), IsEmpty());
  answers = arrive(2, "c");
  ASSERT_THAT(answers, SizeIs(3));
  EXPECT_TRUE(answers[0].ok && answers[1].ok && answers[2].ok);
}

// The process that could still come to the other barrier does not get an error.
TEST_F(BarriersTest, WhoHasOtherThreadsMayComeToBoth) {
  EXPECT_THAT(arrive(0, "a", false), IsEmpty());
  EXPECT_THAT(arrive(1, "b"), IsEmpty());
  EXPECT_THAT(arrive(2, "b", false), IsEmpty());
  EXPECT_THAT(arrive(0, "b", false), SizeIs(3));
  EXPECT_THAT(arrive(1, "a"), IsEmpty());
  EXPECT_THAT(arrive(2, "a"), SizeIs(3));
}

// The process waited with its only thread, and has another thread now.
TEST_F(BarriersTest, ALaterThreadCounts) {
  EXPECT_THAT(arrive(0, "a"), IsEmpty());
  EXPECT_THAT(arrive(0, "b", false), IsEmpty());
  EXPECT_THAT(arrive(1, "b"), IsEmpty());
  EXPECT_THAT(arrive(2, "b"), SizeIs(3));
}

} // namespace
