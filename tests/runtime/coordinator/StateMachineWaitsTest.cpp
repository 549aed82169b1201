// Waits of processes for one another that are in vain: the coordinator's logic, event by event.

#include "tests/runtime/coordinator/StateMachineBench.h"

#include <gmock/gmock.h>

using namespace spmd;
using namespace spmd::coordinator;
using namespace std::chrono_literals;
using testing::AllOf;
using testing::HasSubstr;
using Stage = StateMachine::Stage;

namespace {

constexpr int64_t longLimit = 300'000; ///< Milliseconds.

WaitRequest waitFor(int32_t setter, const std::string &call, WaitingThread thread = WaitingThread::Only) {
  return {7, "key of " + std::to_string(setter), setter, longLimit, call, thread};
}

TEST(StateMachineWaits, AProcessThatLeavesEndsTheWaitsForIt) {
  for (bool leavesFirst : {false, true}) {
    Bench bench(3);
    bench.joinAll();
    if (leavesFirst)
      bench.receiveFrom(1, Goodbye{});
    bench.receiveFrom(0, waitFor(1, "device_put at f.cpp:3"));
    if (!leavesFirst)
      bench.receiveFrom(1, Goodbye{});
    bench.pass(200ms);
    EXPECT_EQ(bench.verdict(), "process 1 (h1, pid 101) failed: it has left the job, and process 0 (h0, pid 100) waits "
                               "for it in device_put at f.cpp:3: all processes must make the same calls in the same "
                               "order");
  }
}

TEST(StateMachineWaits, OnlyWaitsForTheProcessThatLeavesEnd) {
  Bench bench(3);
  bench.joinAll();
  bench.receiveFrom(0, waitFor(2, "device_put at f.cpp:3"));
  bench.receiveFrom(2, WaitRequest{8, "unnamed", 1, longLimit, "", WaitingThread::Only});
  bench.receiveFrom(1, Goodbye{});
  bench.pass(1000ms);
  EXPECT_EQ(bench.verdict(), "none");
  std::vector<Reply> replies = bench.all<Reply>(bench.memberConnections[2]);
  ASSERT_EQ(replies.size(), 1u);
  EXPECT_EQ(replies[0].text,
            "process 1 (h1, pid 101) has left the job without setting key `unnamed` of the job's store");
  bench.receiveFrom(2, SetRequest{9, "key of 2", "v"});
  EXPECT_EQ(bench.all<Reply>(bench.memberConnections[0]).back().text, "v");
}

// Values that a process has set before it left are still read.
TEST(StateMachineWaits, AKeyOutlivesItsProcess) {
  Bench bench(2);
  bench.joinAll();
  bench.receiveFrom(1, SetRequest{1, "key of 1", "v"});
  bench.receiveFrom(1, Goodbye{});
  bench.receiveFrom(0, waitFor(1, "device_put at f.cpp:3"));
  bench.pass(1000ms);
  EXPECT_EQ(bench.verdict(), "none");
  EXPECT_EQ(bench.all<Reply>(bench.memberConnections[0]).back().text, "v");
}

TEST(StateMachineWaits, MembersAreToldOfAProcessThatLeaves) {
  Bench bench(3);
  bench.joinAll();
  bench.receiveFrom(1, Goodbye{});
  for (int32_t process : {0, 2}) {
    std::vector<Departed> told = bench.all<Departed>(bench.memberConnections[process]);
    ASSERT_EQ(told.size(), 1u);
    EXPECT_EQ(told[0].process, 1);
  }
}

// The verdict names the process that did not come, where it is, and the call.
TEST(StateMachineWaits, TheTimeLimitOfACallNamesTheAwaitedProcess) {
  Bench bench(2);
  bench.joinAll();
  bench.positions[1] = {3, 2, Position::State::Running, "f.spmd:5:7"};
  WaitRequest wait = waitFor(1, "device_put at f.cpp:3");
  wait.timeoutMs = 4000;
  bench.receiveFrom(0, wait);
  bench.pass(3900ms);
  EXPECT_EQ(bench.verdict(), "none");
  bench.pass(400ms);
  EXPECT_EQ(bench.verdict(), "process 1 (h1, pid 101) is stuck: process 0 (h0, pid 100) has waited 4 s for it in "
                             "device_put at f.cpp:3; last seen at launch 3, step 2 (f.spmd:5:7)");
}

TEST(StateMachineWaits, TwoProcessesThatWaitForOneAnotherAreNamedWithTheirCalls) {
  Bench bench(3);
  bench.joinAll();
  bench.receiveFrom(1, waitFor(0, "device_put at f.cpp:3"));
  bench.receiveFrom(0, waitFor(1, "make_array_from_process_local_data at f.cpp:4"));
  bench.pass(200ms);
  EXPECT_EQ(
      bench.verdict(),
      "processes wait for one another: process 0 (h0, pid 100) waits for process 1 in "
      "make_array_from_process_local_data at f.cpp:4; process 1 (h1, pid 101) waits for process 0 in device_put at "
      "f.cpp:3: all processes must make the same calls in the same order");
}

TEST(StateMachineWaits, AWaitAndABarrierThatWaitForOneAnotherAreNamed) {
  for (bool waitsFirst : {false, true}) {
    Bench bench(3);
    bench.joinAll();
    if (waitsFirst)
      bench.receiveFrom(0, waitFor(2, "device_put at f.cpp:3"));
    bench.receiveFrom(2, BarrierRequest{1, "here", longLimit, true});
    if (!waitsFirst)
      bench.receiveFrom(0, waitFor(2, "device_put at f.cpp:3"));
    bench.pass(200ms);
    EXPECT_THAT(bench.verdict(), AllOf(HasSubstr("process 0 (h0, pid 100) waits for process 2 in device_put"),
                                       HasSubstr("process 2 (h2, pid 102) waits at barrier `here`")));
  }
}

// Process 3 waits for the cycle, and is not part of it.
TEST(StateMachineWaits, ACycleOfSeveralProcessesIsFound) {
  Bench bench(4);
  bench.joinAll();
  bench.receiveFrom(3, waitFor(0, "d"));
  bench.receiveFrom(0, waitFor(1, "a"));
  bench.receiveFrom(1, waitFor(2, "b"));
  bench.pass(500ms);
  EXPECT_EQ(bench.verdict(), "none");
  bench.receiveFrom(2, waitFor(0, "c"));
  bench.pass(200ms);
  EXPECT_THAT(bench.verdict(), AllOf(HasSubstr("waits for process 1 in a;"), HasSubstr("waits for process 2 in b;"),
                                     HasSubstr("waits for process 0 in c:"), testing::Not(HasSubstr("in d"))));
}

// Another thread may set the key that the others wait for.
TEST(StateMachineWaits, AnotherThreadMayEndAWait) {
  for (WaitingThread thread : {WaitingThread::OneOfSeveral, WaitingThread::Helper}) {
    Bench bench(2);
    bench.joinAll();
    bench.receiveFrom(0, waitFor(1, "a"));
    bench.receiveFrom(1, waitFor(0, "b", thread));
    bench.pass(1000ms);
    EXPECT_EQ(bench.verdict(), "none");
  }
  // Nor is a cycle found if a thread of process 0 comes later.
  Bench bench(2);
  bench.joinAll();
  bench.receiveFrom(0, waitFor(1, "a"));
  bench.receiveFrom(0, WaitRequest{8, "other", 1, longLimit, "c", WaitingThread::OneOfSeveral});
  bench.receiveFrom(1, waitFor(0, "b"));
  bench.pass(1000ms);
  EXPECT_EQ(bench.verdict(), "none");
}

// Process 1 reports that a launch of process 0 waits for it, while it waits for process 0 itself.
TEST(StateMachineWaits, ALaunchThatWaitsIsPartOfACycle) {
  Bench bench(3);
  bench.joinAll();
  bench.receiveFrom(1, waitFor(0, "device_put at f.cpp:3"));
  bench.receiveFrom(1, Delays{7, 0, "all_reduce at g.spmd:4"});
  bench.pass(200ms);
  EXPECT_EQ(bench.verdict(),
            "processes wait for one another: process 0 (h0, pid 100) waits for process 1 in all_reduce at g.spmd:4; "
            "process 1 (h1, pid 101) waits for process 0 in device_put at f.cpp:3: all processes must make the same "
            "calls in the same order");
}

TEST(StateMachineWaits, ALaunchThatWaitsIsPartOfALongCycle) {
  for (bool reportsFirst : {false, true}) {
    Bench bench(4);
    bench.joinAll();
    auto report = [&] {
      bench.receiveFrom(2, waitFor(1, "b"));
      bench.receiveFrom(2, Delays{7, 3, "all_reduce"});
    };
    if (reportsFirst)
      report();
    bench.receiveFrom(1, waitFor(3, "a"));
    if (!reportsFirst)
      report();
    bench.pass(200ms);
    EXPECT_THAT(bench.verdict(), AllOf(HasSubstr("process 1 (h1, pid 101) waits for process 3 in a; "),
                                       HasSubstr("process 2 (h2, pid 102) waits for process 1 in b; "),
                                       HasSubstr("process 3 (h3, pid 103) waits for process 2 in all_reduce: ")));
  }
}

TEST(StateMachineWaits, ALaunchOfAProcessThatNobodyAwaitsMayWait) {
  Bench bench(3);
  bench.joinAll();
  bench.receiveFrom(1, waitFor(2, "device_put at f.cpp:3"));
  bench.receiveFrom(1, Delays{7, 0, "all_reduce at g.spmd:4"});
  bench.pass(1000ms);
  EXPECT_EQ(bench.verdict(), "none");
  // Process 2 comes, and process 1 goes on: its next wait has another number.
  bench.receiveFrom(2, SetRequest{9, "key of 2", "v"});
  bench.receiveFrom(1, WaitRequest{8, "later", 0, longLimit, "device_put at f.cpp:5", WaitingThread::Only});
  bench.pass(1000ms);
  EXPECT_EQ(bench.verdict(), "none");
}

// A report that arrives when the wait is over says nothing about the next one.
TEST(StateMachineWaits, AReportOfAWaitThatIsOverDoesNotCount) {
  Bench bench(2);
  bench.joinAll();
  bench.receiveFrom(1, waitFor(0, "device_put at f.cpp:3"));
  bench.receiveFrom(0, SetRequest{9, "key of 0", "v"});
  bench.receiveFrom(1, Delays{7, 0, "all_reduce at g.spmd:4"});
  bench.receiveFrom(1, BarrierRequest{8, "here", longLimit, true});
  bench.pass(1000ms);
  EXPECT_EQ(bench.verdict(), "none");
}

// The launch goes on when all are at the barrier.
TEST(StateMachineWaits, AProcessAtTheBarrierMayHaveALaunchThatWaits) {
  Bench bench(3);
  bench.joinAll();
  bench.receiveFrom(0, BarrierRequest{1, "here", longLimit, true});
  bench.receiveFrom(1, BarrierRequest{1, "here", longLimit, true});
  bench.receiveFrom(1, Delays{1, 0, "all_reduce at g.spmd:4"});
  bench.pass(1000ms);
  EXPECT_EQ(bench.verdict(), "none");
  bench.receiveFrom(2, BarrierRequest{1, "here", longLimit, true});
  EXPECT_TRUE(bench.all<Reply>(bench.memberConnections[1]).back().ok);
}

TEST(StateMachineWaits, ADelayOfNoProcessIsMalformed) {
  for (int32_t process : {1, 2, -1}) {
    Bench bench(2);
    bench.joinAll();
    bench.receiveFrom(1, waitFor(0, "a"));
    bench.receiveFrom(1, Delays{7, process, "all_reduce"});
    bench.pass(200ms);
    EXPECT_THAT(bench.verdict(), HasSubstr("a delay of a process that it cannot delay"));
  }
}

TEST(StateMachineWaits, AWaitForNoProcessIsMalformed) {
  Bench bench(2);
  bench.joinAll();
  bench.receiveFrom(0, waitFor(2, "a"));
  bench.pass(200ms);
  EXPECT_THAT(bench.verdict(), HasSubstr("a wait for a process that does not exist"));
}

} // namespace
