// How a job ends, and which process is the culprit: the coordinator's logic, event by event.

#include "tests/runtime/coordinator/StateMachineBench.h"

#include <gmock/gmock.h>

using namespace spmd;
using namespace spmd::coordinator;
using namespace std::chrono_literals;
using testing::AllOf;
using testing::HasSubstr;
using Stage = StateMachine::Stage;

namespace {

TEST(StateMachine, AClosedConnectionWithoutLauncherIsDecidedAtOnce) {
  Bench bench(3);
  bench.joinAll();
  bench.receiveFrom(1, Heartbeat{{4, 2, Position::State::Running, "f:5:7"}});
  bench.hangUp(1);
  EXPECT_EQ(bench.verdict(), "process 1 (h1, pid 101) was lost without goodbye; last seen at launch 4, step 2 (f:5:7)");
  for (int32_t process : {0, 2}) {
    std::vector<VerdictMessage> verdicts = bench.all<VerdictMessage>(bench.memberConnections[process]);
    ASSERT_EQ(verdicts.size(), 1u);
    EXPECT_EQ(verdicts[0].verdict.str(), bench.verdict());
    EXPECT_TRUE(bench.closed.count(bench.memberConnections[process]));
  }
}

TEST(StateMachine, WithALauncherTheSignalIsWaitedForButNotLong) {
  auto launched = [](ServerOptions &options) { options.hasLauncher = true; };
  {
    Bench bench(3, launched);
    bench.joinAll();
    bench.hangUp(1);
    EXPECT_EQ(bench.verdict(), "none");
    bench.childEnded(1, 11);
    EXPECT_THAT(bench.verdict(), HasSubstr("process 1 (h1, pid 101) was killed by signal 11 (SIGSEGV)"));
  }
  {
    Bench bench(3, launched);
    bench.joinAll();
    bench.hangUp(1);
    bench.pass(300ms);
    EXPECT_THAT(bench.verdict(), HasSubstr("was lost without goodbye"));
  }
  {
    // The launcher is faster than the connection, on which a last message is still to come.
    Bench bench(3, launched);
    bench.joinAll();
    bench.childEnded(1, 0, 1);
    EXPECT_EQ(bench.verdict(), "none");
    bench.receiveFrom(1, Fail{"no such file", {}});
    bench.hangUp(1);
    bench.pass(200ms);
    EXPECT_EQ(bench.verdict(), "process 1 (h1, pid 101) failed: no such file");
  }
  {
    // It never joined.
    Bench bench(3, launched);
    bench.join(bench.helloOf(0));
    bench.childEnded(2, 0, 3);
    bench.pass(200ms);
    EXPECT_EQ(bench.verdict(),
              "process 2 (h0, pid 102) exited with status 3 without goodbye; last seen before its first step");
  }
}

// When process 0 reports its position to its members after its first step, and how often later.
TEST(StateMachine, MembersAreToldWhereProcess0HasBegun) {
  Bench bench(2);
  bench.joinAll();
  bench.pass(1000ms);
  auto told = [&] { return bench.all<Heartbeat>(bench.memberConnections[1]); };
  size_t before = told().size();
  bench.receiveFrom(0, Heartbeat{{1, 0, Position::State::Running, "f:5:7"}});
  bench.machine->tick(bench.now);
  bench.collect();
  ASSERT_EQ(told().size(), before + 1);
  EXPECT_EQ(told().back().position.launch, 1u);
  bench.positions[0] = {900, 0, Position::State::Running, "f:5:7"};
  bench.pass(400ms);
  EXPECT_EQ(told().back().position.launch, 900u);
  before = told().size();
  bench.pass(10'000ms);
  EXPECT_LE(told().size(), before + 21);
}

TEST(StateMachine, ADeathComesBeforeTheComplaintsAboutIt) {
  Bench bench(3);
  bench.joinAll();
  bench.receiveFrom(2, Fail{"connection reset by process 1", {}});
  EXPECT_EQ(bench.verdict(), "none");
  bench.now += 10ms;
  bench.hangUp(1);
  EXPECT_THAT(bench.verdict(), HasSubstr("process 1 (h1, pid 101) was lost"));
}

TEST(StateMachine, ThereIsOneVerdict) {
  Bench bench(4);
  bench.joinAll();
  bench.hangUp(3);
  std::string first = bench.verdict();
  bench.hangUp(1);
  bench.receiveFrom(2, Fail{"me too", {}});
  bench.pass(20s, {0, 2});
  EXPECT_EQ(bench.verdict(), first);
  EXPECT_EQ(bench.all<VerdictMessage>(bench.memberConnections[2]).size(), 1u);
}

TEST(StateMachine, SilenceIsForgivenUntilTheHeartbeatTimeout) {
  Bench bench(3);
  bench.joinAll();
  bench.pass(9'900ms, {2});
  EXPECT_EQ(bench.verdict(), "none");
  bench.pass(1s);
  EXPECT_EQ(bench.verdict(), "none");
  bench.pass(10'500ms, {2});
  EXPECT_THAT(bench.verdict(), HasSubstr("process 2 (h2, pid 102) hangs: no heartbeat for 10 s"));
}

TEST(StateMachine, WhenItWasStoppedItselfNobodyIsBlamed) {
  Bench bench(3);
  bench.joinAll();
  bench.pass(1s);
  bench.now += 60s;
  bench.machine->tick(bench.now);
  EXPECT_EQ(bench.verdict(), "none");
  bench.pass(5s);
  EXPECT_EQ(bench.verdict(), "none");
  // Unless the others have concluded without it meanwhile, and say so.
  Verdict hung{0, "h0", 100, Verdict::Cause::Hung, 10'000, "", {}};
  bench.receiveFrom(2, VerdictMessage{hung});
  EXPECT_EQ(bench.verdict(), hung.str());
}

TEST(StateMachine, MembersCannotInventVerdicts) {
  Bench bench(3);
  bench.joinAll();
  bench.receiveFrom(2, VerdictMessage{{1, "h1", 101, Verdict::Cause::Hung, 1, "", {}}});
  bench.pass(200ms);
  EXPECT_THAT(bench.verdict(), AllOf(HasSubstr("process 2 (h2, pid 102) failed"), HasSubstr("invalid message")));
}

TEST(StateMachine, StandingStillIsWarnedOfOnlyWhereProcessesAreApart) {
  Bench bench(3, [](ServerOptions &options) { options.collectiveTimeout = 0ms; });
  bench.joinAll();
  Position here{3, 4, Position::State::Running, "f:4:1"}, there{3, 9, Position::State::Running, "f:9:1"};
  for (int32_t process : {0, 1, 2})
    bench.positions[process] = here;
  bench.pass(10s); // All are at one position: they may be computing.
  EXPECT_TRUE(bench.all<NoticeMessage>(bench.memberConnections[0]).empty());
  bench.positions[0] = bench.positions[1] = there;
  bench.pass(1900ms);
  EXPECT_TRUE(bench.all<NoticeMessage>(bench.memberConnections[0]).empty());
  bench.pass(400ms);
  std::vector<NoticeMessage> notices = bench.all<NoticeMessage>(bench.memberConnections[0]);
  ASSERT_EQ(notices.size(), 1u);
  EXPECT_EQ(notices[0].notice.text, "the job has not moved for 2 s: process 2: launch 3, step 4 (f:4:1); "
                                    "processes 0 and 1: launch 3, step 9 (f:9:1)");
  // One warning for each standstill, repeated after a while; never an error, because collective_timeout is 0.
  bench.pass(20s);
  EXPECT_EQ(bench.all<NoticeMessage>(bench.memberConnections[0]).size(), 1u);
  bench.pass(3600s);
  EXPECT_EQ(bench.verdict(), "none");
}

// Loading inputs may take long, and no process is behind another: a warning lets the user decide.
TEST(StateMachine, StandingStillBeforeTheFirstStepIsWarnedOf) {
  Bench bench(2);
  bench.joinAll();
  bench.pass(29s);
  EXPECT_TRUE(bench.all<NoticeMessage>(bench.memberConnections[0]).empty());
  bench.pass(60s);
  std::vector<NoticeMessage> notices = bench.all<NoticeMessage>(bench.memberConnections[0]);
  ASSERT_EQ(notices.size(), 2u);
  EXPECT_EQ(notices[0].notice.text, "the job has not moved for 30 s: processes 0 and 1: before its first step");
  EXPECT_EQ(bench.verdict(), "none");
  bench.positions[0] = bench.positions[1] = {1, 2, Position::State::Running, "f:4:1"};
  bench.pass(3600s); // They may be computing.
  EXPECT_EQ(bench.all<NoticeMessage>(bench.memberConnections[0]).size(), 2u);
}

// Launches may end at different steps, in different branches or on the device that was last; an application may then do
// something else for hours. A process that does, while another one waits for it in a launch, is behind.
TEST(StateMachine, ProcessesBetweenLaunchesDoNotStandStill) {
  Bench bench(3);
  bench.joinAll();
  bench.positions[0] = {5, 1, Position::State::Idle, "f:1:1"};
  bench.positions[1] = {5, 7, Position::State::Idle, "f:7:7"};
  bench.pass(3600s); // Process 2 has run nothing yet.
  EXPECT_TRUE(bench.all<NoticeMessage>(bench.memberConnections[0]).empty());
  EXPECT_EQ(bench.verdict(), "none");
  bench.positions[2] = {6, 0, Position::State::Running, "f:0:1"};
  bench.pass(31s);
  EXPECT_THAT(bench.verdict(), HasSubstr("process 0 (h0, pid 100) is stuck: for 30.5 s it has been at launch 5, step 1 "
                                         "(f:1:1), while others are elsewhere"));
}

TEST(StateMachine, WhoIsBehindIsToBlameForStandingStill) {
  Bench bench(3);
  bench.joinAll();
  bench.positions[0] = bench.positions[2] = {5, 1, Position::State::Running, "f:1:1"};
  bench.positions[1] = {4, 7, Position::State::Running, "f:7:7"};
  bench.pass(31s);
  EXPECT_THAT(bench.verdict(),
              AllOf(HasSubstr("process 1 (h1, pid 101) is stuck: for 30.5 s it has been at launch 4, step 7 "
                              "(f:7:7)"),
                    HasSubstr("processes 0 and 2: launch 5, step 1 (f:1:1)")));

  // The limit does not depend on the times of heartbeats: it comes before devices must report, but after reports of a
  // broken network.
  Bench exact(2, [](ServerOptions &options) { options.collectiveTimeout = 2010ms; });
  exact.joinAll();
  exact.positions[0] = {5, 1, Position::State::Running, "f:1:1"};
  exact.pass(100ms);
  exact.now = exact.machine->nextDeadline();
  while (exact.verdict() == "none" && exact.now < TimePoint() + 1005s) {
    exact.machine->tick(exact.now);
    exact.now = exact.machine->nextDeadline();
  }
  ASSERT_TRUE(exact.machine->getVerdict());
  EXPECT_EQ(exact.machine->getVerdict()->detail, 2510);

  Bench starting(2);
  starting.joinAll();
  starting.positions[0] = {1, 2, Position::State::Running, "f:4:1"};
  starting.pass(31s);
  EXPECT_THAT(starting.verdict(), HasSubstr("process 1 (h1, pid 101) is stuck: for 30.5 s it has been before its first "
                                            "step, while others are elsewhere (process 0: launch 1"));
}

// Process 0 waits for 1, which waits for 2: their reports of waiting are no failures of their own.
TEST(StateMachine, WhoIsWaitedForInVainIsToBlame) {
  Bench bench(4);
  bench.joinAll();
  bench.positions[2] = {4, 7, Position::State::Running, "f:7:7"};
  bench.pass(500ms);
  bench.receiveFrom(0, Missed{1, "all_reduce on process 0 waited for process 1"});
  bench.receiveFrom(1, Missed{2, "all_reduce on process 1 waited for process 2"});
  bench.pass(200ms);
  EXPECT_EQ(bench.verdict(), "process 2 (h2, pid 102) is stuck: all_reduce on process 1 waited for process 2; "
                             "last seen at launch 4, step 7 (f:7:7)");

  Bench failing(3);
  failing.joinAll();
  failing.receiveFrom(0, Missed{1, "waited"});
  failing.receiveFrom(1, Fail{"broken", {}});
  failing.pass(200ms);
  EXPECT_EQ(failing.verdict(), "process 1 (h1, pid 101) failed: broken");
}

TEST(StateMachine, WaitingHasItsOwnTimeLimits) {
  Bench bench(2);
  bench.joinAll();
  bench.positions[0] = {5, 1, Position::State::Running, "f:1:1"};
  bench.positions[1] = {5, 1, Position::State::Waiting, "at barrier `b`"};
  bench.pass(100s);
  EXPECT_EQ(bench.verdict(), "none");
  EXPECT_THAT(bench.all<NoticeMessage>(bench.memberConnections[0]).at(0).notice.text,
              HasSubstr("process 1: waiting, launch 5, step 1 (at barrier `b`)"));
}

TEST(StateMachine, GoodbyeIsForAllOrNobody) {
  Bench bench(3);
  bench.joinAll();
  bench.receiveFrom(1, Goodbye{});
  bench.receiveFrom(0, Goodbye{});
  bench.pass(60s);
  EXPECT_EQ(bench.machine->getStage(), Stage::Running);
  EXPECT_TRUE(bench.all<Farewell>(bench.memberConnections[1]).empty());
  bench.receiveFrom(2, Goodbye{});
  EXPECT_EQ(bench.machine->getStage(), Stage::Done);
  for (auto [process, connection] : bench.memberConnections)
    EXPECT_EQ(bench.all<Farewell>(connection).size(), 1u);
  bench.hangUp(2);
  bench.childEnded(1, 9);
  EXPECT_EQ(bench.verdict(), "none");

  Bench torn(3);
  torn.joinAll();
  torn.receiveFrom(1, Goodbye{});
  torn.hangUp(1); // It must not leave before the others.
  EXPECT_THAT(torn.verdict(), HasSubstr("process 1 (h1, pid 101) was lost"));
}

TEST(StateMachine, AMemberThatSendsNonsenseIsToBlame) {
  Bench bench(3);
  bench.joinAll();
  bench.machine->onRecord(bench.memberConnections[1], "\xff\xff", bench.now);
  bench.pass(200ms);
  EXPECT_THAT(bench.verdict(), HasSubstr("process 1 (h1, pid 101) failed: it sent the coordinator an invalid message"));
  EXPECT_EQ(bench.all<VerdictMessage>(bench.memberConnections[1]).size(), 1u);
}

// The position of a failure report counts, not a later position of the process's other devices.
TEST(StateMachine, AFailureKeepsItsPlace) {
  Bench bench(2);
  bench.joinAll();
  Position where{7, 3, Position::State::Running, "mlp.spmd:5:7"};
  bench.receiveFrom(1, Fail{"broken", where});
  bench.positions[1] = {7, 9, Position::State::Running, "mlp.spmd:8:1"};
  bench.receiveFrom(1, Fail{"broken again", bench.positions[1]});
  bench.pass(1s);
  ASSERT_TRUE(bench.machine->getVerdict());
  EXPECT_EQ(bench.machine->getVerdict()->text, "broken");
  EXPECT_EQ(bench.machine->getVerdict()->position, where);
}

// If all processes report a shared failure, the verdict names the process that met the cause, or none, no matter which
// report is first.
TEST(StateMachine, ASharedFailureNamesWhoMetTheCause) {
  for (int32_t first : {0, 1, 2}) {
    Bench bench(3);
    bench.joinAll();
    bench.positions[1] = {7, 9, Position::State::Running, "mlp.spmd:8:1"};
    bench.receiveFrom(1, Heartbeat{bench.positions[1]});
    bench.receiveFrom(first, Fail{"not saved", bench.positions[first], 1});
    bench.pass(1s);
    EXPECT_EQ(bench.verdict(), "process 1 (h1, pid 101) failed: not saved");
    EXPECT_EQ(bench.machine->getVerdict()->position, bench.positions[1]);
  }
  Bench bench(3);
  bench.joinAll();
  bench.receiveFrom(2, Fail{"nothing to run", {}, -1});
  bench.pass(1s);
  EXPECT_EQ(bench.verdict(), "nothing to run");
  EXPECT_EQ(bench.machine->getVerdict()->culprit, -1);
  Bench wrong(3);
  wrong.joinAll();
  wrong.receiveFrom(2, Fail{"not saved", {}, 3});
  wrong.pass(1s);
  EXPECT_THAT(wrong.verdict(), HasSubstr("process 2 (h2, pid 102) failed: it sent the coordinator an invalid message"));
}

TEST(StateMachine, OfSeveralWhoReportTheSameItIsTheFirstByNumber) {
  Bench bench(4);
  bench.joinAll();
  for (int32_t process : {2, 3, 0, 1}) {
    bench.receiveFrom(process, Fail{process == 0 ? "another" : "no such file", {}});
    bench.now += 10ms;
  }
  bench.pass(1s);
  EXPECT_EQ(bench.verdict(), "process 1 (h1, pid 101) failed: no such file");
}

TEST(StateMachine, WhoIsAskedToEndSaysSo) {
  Bench bench(2);
  bench.joinAll();
  bench.receiveFrom(1, Fail{"", {}, {}, 15});
  bench.hangUp(1);
  bench.pass(1s, {1});
  EXPECT_EQ(bench.verdict(), "process 1 (h1, pid 101) was asked to end (SIGTERM)");
  EXPECT_EQ(bench.machine->getVerdict()->cause, Verdict::Cause::Interrupted);
}

} // namespace
