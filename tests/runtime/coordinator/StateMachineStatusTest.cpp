// The answers to observers, and the limits of observers.

#include "tests/runtime/coordinator/StateMachineBench.h"

#include <gmock/gmock.h>

using namespace spmd;
using namespace spmd::coordinator;
using namespace std::chrono_literals;
using testing::HasSubstr;
using Stage = StateMachine::Stage;

namespace {

TEST(Status, TellsWhatHeartbeatsHaveTold) {
  Bench bench(3);
  bench.joinAll();
  bench.positions[1] = {7, 3, Position::State::Running, "mlp.spmd:5:7"};
  for (int second = 0; second != 6; ++second) {
    bench.receiveFrom(1, ProcessStatisticsMessage{{static_cast<uint64_t>(second), 11, 12, 20 * second, 1000, 4096}});
    bench.receiveFrom(2, ProcessStatisticsMessage{{static_cast<uint64_t>(7 * second), 0, 0, -1, 0, 0}});
    bench.pass(1s);
  }
  bench.pass(1s, {0});
  std::vector<StatusReply> replies = bench.observe(StatusRequest{});
  ASSERT_EQ(replies.size(), 1u);
  const JobStatus &status = replies[0].status;
  EXPECT_EQ(status.stage, JobStatus::Stage::Running);
  EXPECT_EQ(status.numProcesses, 3);
  EXPECT_EQ(status.uptimeMs, 7000);
  ASSERT_EQ(status.processes.size(), 3u);
  const ProcessStatus &one = status.processes[1];
  EXPECT_EQ(one.process, 1);
  EXPECT_EQ(one.host, "h1");
  EXPECT_EQ(one.pid, 101);
  EXPECT_EQ(one.devices, 1);
  EXPECT_EQ(one.position, bench.positions[1]);
  EXPECT_EQ(one.statistics, (ProcessStatistics{5, 11, 12, 100, 1000, 4096}));
  EXPECT_NEAR(one.rate, 100 / 7.0, 0.01);                // 100 steps in the 7 s since the first message.
  EXPECT_NEAR(status.processes[2].rate, 35 / 7.0, 0.01); // Launches if there is no loop.
  EXPECT_EQ(status.processes[0].rate, 0);
  EXPECT_EQ(status.processes[0].heartbeatAgeMs, 1000);
  EXPECT_LE(one.heartbeatAgeMs, 100);
  EXPECT_TRUE(bench.closed.count(bench.observer));
}

TEST(Status, IsThereBeforeAllHaveComeAndAfterTheEnd) {
  Bench bench(2);
  std::vector<StatusReply> replies = bench.observe(StatusRequest{});
  ASSERT_EQ(replies.size(), 1u);
  EXPECT_TRUE(replies[0].status.processes.empty());
  bench.join(bench.helloOf(1));
  replies = bench.observe(StatusRequest{});
  ASSERT_EQ(replies.size(), 1u);
  EXPECT_EQ(replies[0].status.stage, JobStatus::Stage::RollCall);
  ASSERT_EQ(replies[0].status.processes.size(), 1u);
  EXPECT_EQ(replies[0].status.processes[0].process, 1);
  bench.join(bench.helloOf(0));
  bench.receiveFrom(1, Fail{"broken", {}});
  bench.pass(1s);
  replies = bench.observe(StatusRequest{});
  ASSERT_EQ(replies.size(), 1u);
  EXPECT_EQ(replies[0].status.stage, JobStatus::Stage::Over);
  EXPECT_EQ(replies[0].status.verdict, bench.verdict());
  EXPECT_THAT(replies[0].status.verdict, HasSubstr("broken"));
}

TEST(Status, NeedsItsOwnTokenAndTheRightJob) {
  Bench bench(2, [](ServerOptions &options) { options.jobId = "a"; });
  EXPECT_TRUE(bench.observe(StatusRequest{}, "wrong").empty());
  EXPECT_EQ(bench.rejected(bench.observer), "wrong token");
  EXPECT_TRUE(bench.observe(StatusRequest{}, "t").empty()); // The token of processes is a different one.
  EXPECT_TRUE(bench.observe(StatusRequest{true, "b"}).empty());
  EXPECT_EQ(bench.rejected(bench.observer), "another job is served there: `a`");
  EXPECT_EQ(bench.observe(StatusRequest{true, "a"}).size(), 1u);
}

// No message of an observer makes it a process, and the job goes on.
TEST(Status, ObserversCannotJoinOrDisturb) {
  Bench bench(2);
  bench.join(bench.helloOf(0));
  for (const Message &message :
       std::vector<Message>{bench.helloOf(1), Goodbye{}, Fail{"broken", {}}, Heartbeat{}, VerdictMessage{},
                            SetRequest{1, "k", "v"}, ProcessStatisticsMessage{}}) {
    EXPECT_TRUE(bench.observe(message).empty());
    EXPECT_TRUE(bench.closed.count(bench.observer));
  }
  EXPECT_EQ(bench.machine->getStage(), Stage::RollCall);
  bench.join(bench.helloOf(1));
  EXPECT_EQ(bench.machine->getStage(), Stage::Running);
  for (int i = 0; i != 200; ++i)
    bench.observe(StatusRequest{});
  ConnectionId silent = bench.openWithToken("s", Role::Observer);
  bench.pass(6s);
  EXPECT_TRUE(bench.closed.count(silent));
  EXPECT_EQ(bench.verdict(), "none");
  // A process may not ask for the status: its connection is for other messages.
  ConnectionId asker = bench.openWithToken();
  bench.receive(asker, StatusRequest{});
  EXPECT_TRUE(bench.closed.count(asker));
  EXPECT_TRUE(bench.all<StatusReply>(asker).empty());
  EXPECT_EQ(bench.machine->getStage(), Stage::Running);
}

} // namespace
