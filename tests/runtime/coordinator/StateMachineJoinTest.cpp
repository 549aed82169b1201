// Which processes may join, and when a job begins: the coordinator's logic, event by event.

#include "tests/runtime/coordinator/StateMachineBench.h"

#include <gmock/gmock.h>

using namespace spmd;
using namespace spmd::coordinator;
using namespace std::chrono_literals;
using testing::AllOf;
using testing::HasSubstr;
using Stage = StateMachine::Stage;

namespace {

TEST(StateMachine, GarbageIsClosedWithoutAnAnswer) {
  Bench bench(2);
  ConnectionId id = bench.open();
  bench.machine->onRecord(id, std::string(openingBytes, 'x'), bench.now);
  bench.collect();
  EXPECT_TRUE(bench.closed.count(id));
  EXPECT_FALSE(bench.raw.count(id));
}

TEST(StateMachine, AWrongTokenIsRejectedAndNothingElseIsRead) {
  Bench bench(2);
  ConnectionId id = bench.openWithToken("u");
  EXPECT_EQ(bench.rejected(id), "wrong token");
  EXPECT_TRUE(bench.closed.count(id));
  bench.receive(id, bench.helloOf(1));
  EXPECT_TRUE(bench.all<Welcome>(id).empty());
}

TEST(StateMachine, AProofIsForOneConnectionOnly) {
  Bench bench(2);
  int nonces = 0;
  bench.machine =
      std::make_unique<StateMachine>(bench.options, [&] { return Nonce{static_cast<char>(++nonces)}; }, bench.now);
  ConnectionId first = bench.open(), second = bench.open();
  Opening ours, theirs;
  for (ConnectionId id : {first, second})
    bench.machine->onRecord(id, ours.encode(), bench.now);
  bench.collect();
  ASSERT_TRUE(Opening::decode(std::string_view(bench.raw[first]).substr(0, openingBytes), theirs));
  Proof proof = prove(Side::Process, "t", ours, theirs);
  bench.machine->onRecord(second, std::string_view(proof.data(), proof.size()), bench.now);
  bench.collect();
  EXPECT_EQ(bench.rejected(second), "wrong token");
  bench.machine->onRecord(first, std::string_view(proof.data(), proof.size()), bench.now);
  bench.collect();
  EXPECT_FALSE(bench.closed.count(first));
}

TEST(StateMachine, AnotherVersionGetsTheChallengeToReadOursFrom) {
  Bench bench(2);
  ConnectionId id = bench.open();
  Opening ours;
  ours.version = 99;
  bench.machine->onRecord(id, ours.encode(), bench.now);
  bench.collect();
  EXPECT_EQ(bench.raw[id].size(), challengeBytes);
  EXPECT_TRUE(bench.closed.count(id));
}

TEST(StateMachine, SilentConnectionsAreClosedAndTheirNumberIsBounded) {
  Bench bench(2);
  ConnectionId silent = bench.open();
  bench.pass(4900ms);
  EXPECT_FALSE(bench.closed.count(silent));
  bench.pass(200ms);
  EXPECT_TRUE(bench.closed.count(silent));

  for (int i = 0; i != 1000; ++i)
    bench.open();
  EXPECT_GE(bench.closed.size(), 1000u - 131);
  EXPECT_FALSE(bench.closed.count(bench.last)); // The newest stays.
  bench.joinAll();
}

TEST(StateMachine, RollCallEndsWithTheTopology) {
  Bench bench(3);
  bench.join(bench.helloOf(2));
  Hello hello = bench.helloOf(0);
  hello.localDeviceIds = {0, 1};
  bench.join(hello);
  EXPECT_EQ(bench.machine->getStage(), Stage::RollCall);
  bench.join(bench.helloOf(1));
  EXPECT_EQ(bench.machine->getStage(), Stage::Running);
  for (auto [process, connection] : bench.memberConnections) {
    std::vector<TopologyMessage> topologies = bench.all<TopologyMessage>(connection);
    ASSERT_EQ(topologies.size(), 1u);
    EXPECT_EQ(topologies[0].topology.deviceCount(), 4);
    EXPECT_EQ(topologies[0].topology.processes[2].firstDevice, 3);
    EXPECT_EQ(topologies[0].topology.processes[2].address, "10.0.0.1");
  }
}

TEST(StateMachine, ProgressEveryFiveSecondsThenTheMissing) {
  Bench bench(5);
  bench.join(bench.helloOf(0));
  bench.join(bench.helloOf(3));
  bench.pass(10'500ms);
  std::vector<NoticeMessage> notices = bench.all<NoticeMessage>(bench.memberConnections[3]);
  ASSERT_EQ(notices.size(), 2u);
  EXPECT_EQ(notices[0].notice.text, "waiting for processes 1, 2 and 4 of 5 to join (5 s of 20 s)");
  EXPECT_EQ(notices[1].notice.text, "waiting for processes 1, 2 and 4 of 5 to join (10 s of 20 s)");
  bench.pass(9'400ms);
  EXPECT_EQ(bench.verdict(), "none");
  bench.pass(200ms);
  EXPECT_THAT(bench.verdict(), HasSubstr("processes 1, 2 and 4 of 5 did not join within 20 s"));
}

TEST(StateMachine, WhoCannotTakePartIsTheRootCauseForAllAlsoForThoseWhoComeLater) {
  Bench bench(3);
  bench.join(bench.helloOf(0));
  Hello failing = bench.helloOf(2);
  failing.columns.clear(); // It failed before it knew the columns to compare.
  failing.failure = "cannot read 'x.spmd': No such file or directory";
  bench.join(failing);
  bench.pass(200ms);
  std::string verdict = "process 2 (h2, pid 102) failed: cannot read 'x.spmd': No such file or directory";
  EXPECT_EQ(bench.verdict(), verdict);
  ConnectionId late = bench.openWithToken();
  bench.receive(late, bench.helloOf(1));
  std::vector<VerdictMessage> told = bench.all<VerdictMessage>(late);
  ASSERT_EQ(told.size(), 1u);
  EXPECT_EQ(told[0].verdict.str(), verdict);
  EXPECT_EQ(bench.machine->countLatecomers(), 0u);
}

TEST(StateMachine, AJobDoesNotBeginWithoutWhoCannotTakePart) {
  Bench bench(2);
  Hello failing = bench.helloOf(0);
  failing.failure = "no";
  bench.join(failing);
  bench.join(bench.helloOf(1));
  EXPECT_EQ(bench.machine->getStage(), Stage::RollCall);
  bench.pass(200ms);
  EXPECT_EQ(bench.verdict(), "process 0 (h0, pid 100) failed: no");
}

TEST(StateMachine, ConnectionsThatCannotBeAcceptedAreToldOfNowAndThen) {
  Bench bench(2);
  bench.join(bench.helloOf(0));
  for (int i = 0; i != 3; ++i)
    bench.machine->onNoRoom("Too many open files", bench.now);
  bench.pass(1ms);
  std::vector<NoticeMessage> notices = bench.all<NoticeMessage>(bench.memberConnections[0]);
  ASSERT_EQ(notices.size(), 1u);
  EXPECT_EQ(notices[0].notice.text,
            "no more connections can be accepted (Too many open files): processes that have not joined cannot");
}

TEST(StateMachine, TheHolderOfAnIdIsNamedToANewcomer) {
  Bench bench(3);
  bench.join(bench.helloOf(1));
  Hello twin = bench.helloOf(1);
  twin.incarnation = 5;
  ConnectionId id = bench.openWithToken();
  bench.receive(id, twin);
  EXPECT_THAT(bench.rejected(id), HasSubstr("process 1 (h1, pid 101) is already in the job"));
  // No other process becomes process 0, even before the serving process has said hello itself.
  Hello pretender = bench.helloOf(0);
  pretender.incarnation = 5;
  id = bench.openWithToken();
  bench.receive(id, pretender);
  EXPECT_THAT(bench.rejected(id), HasSubstr("process 0 (h0, pid 100) is already in the job"));
  Hello stranger = bench.helloOf(2);
  stranger.jobId = "other";
  id = bench.openWithToken();
  bench.receive(id, stranger);
  EXPECT_THAT(bench.rejected(id), AllOf(HasSubstr("the job without an id of process 0 (h0, pid 100)"),
                                        HasSubstr("belongs to the job `other`")));
  bench.join(bench.helloOf(0));
  bench.join(bench.helloOf(2));
  EXPECT_EQ(bench.machine->getStage(), Stage::Running);
  Hello late = bench.helloOf(3);
  late.numProcesses = 4;
  id = bench.openWithToken();
  bench.receive(id, late);
  EXPECT_THAT(bench.rejected(id), HasSubstr("has already started with 3 processes"));
  EXPECT_EQ(bench.machine->getStage(), Stage::Running);
}

TEST(StateMachine, ADifferenceWaitsShortlyForTheOthers) {
  Bench bench(4);
  for (int32_t process : {0, 1, 2}) {
    Hello hello = bench.helloOf(process);
    hello.columns = {{"--set N", process == 1 ? "5" : "4"}};
    bench.join(hello);
  }
  EXPECT_EQ(bench.verdict(), "none");
  bench.pass(400ms);
  EXPECT_THAT(bench.verdict(),
              AllOf(HasSubstr("--set N differs: `4` on processes 0 and 2; `5` on process 1 (h1, pid 101)")));
  EXPECT_EQ(bench.machine->getVerdict()->culprit, 1);
  // A process that comes later gets the verdict too.
  ConnectionId id = bench.openWithToken();
  bench.receive(id, bench.helloOf(3));
  ASSERT_EQ(bench.all<VerdictMessage>(id).size(), 1u);
}

// The coordinator asks one process of each program what it was compiled from; the verdict does not wait for long.
TEST(StateMachine, DifferentProgramsAreAskedAbout) {
  for (bool answers : {true, false}) {
    Bench bench(3);
    std::vector<ConnectionId> ids;
    for (int32_t process : {0, 1, 2}) {
      Hello hello = bench.helloOf(process);
      hello.programDigest = process == 1 ? "b" : "a";
      ids.push_back(bench.join(hello));
    }
    EXPECT_EQ(bench.all<ProgramDetailsRequest>(ids[0]).size(), 1u);
    EXPECT_EQ(bench.all<ProgramDetailsRequest>(ids[1]).size(), 1u);
    EXPECT_EQ(bench.all<ProgramDetailsRequest>(ids[2]).size(), 0u);
    bench.receive(ids[0], ProgramDetails{{{"the program", std::string(300, 'x') + "1"}}});
    bench.receive(ids[2], ProgramDetails{{{"the program", "not asked for"}}});
    EXPECT_EQ(bench.verdict(), "none");
    if (answers)
      bench.receive(ids[1], ProgramDetails{{{"the program", std::string(300, 'x') + "2"}}});
    else
      bench.pass(600ms);
    std::string end(60, 'x');
    EXPECT_THAT(bench.verdict(),
                HasSubstr(answers ? "the program differs: `..." + end + "1` on processes 0 and 2; `..." + end +
                                        "2` on process 1 (h1, pid 101)"
                                  : "the program's digest differs: `a` on processes 0 and 2; `b`"));
    EXPECT_EQ(bench.machine->getVerdict()->culprit, 1);
  }
}

TEST(StateMachine, TheOddOneOutIsToBlameEvenIfItIsProcess0) {
  Bench bench(3);
  for (int32_t process : {0, 1, 2}) {
    Hello hello = bench.helloOf(process);
    hello.build = process == 0 ? "old" : "new";
    bench.join(hello);
  }
  EXPECT_THAT(bench.verdict(),
              HasSubstr("the build differs: `old` on process 0 (h0, pid 100); `new` on processes 1 and 2"));
  EXPECT_EQ(bench.machine->getVerdict()->culprit, 0);
}

} // namespace
