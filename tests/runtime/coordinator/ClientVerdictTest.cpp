// All processes report one root cause, over real connections; the processes are threads.

#include "tests/runtime/coordinator/TransportHelper.h"
#include "tests/support/TimeLimit.h"

#include <gmock/gmock.h>

#include <atomic>
#include <future>
#include <mutex>
#include <thread>

#include <unistd.h>

using namespace spmd;
using namespace spmd::test;
using namespace std::chrono_literals;
using testing::AllOf;
using testing::Each;
using testing::HasSubstr;

namespace {

TEST(ClientVerdict, AReportedFailureIsTheRootCauseOnAll) {
  Port port;
  auto clients = joinAll(port, 4);
  SourceLocation location{"mlp.spmd", 5, 7};
  clients[2]->atStep(3, 11, location);
  clients[2]->reportFailure("device out of memory");
  std::vector<std::string> errors(4);
  double seconds = secondsOf([&] {
    runProcesses(4, [&](int32_t process) {
      while (!clients[process]->isOver())
        std::this_thread::yield();
      errors[process] = messageOf([&] { clients[process]->throwVerdict(); });
    });
  });
  EXPECT_LT(seconds, timeLimit(0.5));
  EXPECT_THAT(errors, Each("process 2 (" + hostName() + ", pid " + std::to_string(::getpid()) +
                           ") failed: device out of memory"));
  auto verdict = clients[0]->verdict();
  ASSERT_TRUE(verdict);
  EXPECT_EQ(verdict->culprit, 2);
  EXPECT_EQ(verdict->position.launch, 3u);
  EXPECT_EQ(verdict->position.step, 11);
  EXPECT_EQ(verdict->position.location, "mlp.spmd:5:7");
  EXPECT_EQ(messageOf([&] { clients[1]->set("a", "b"); }), errors[0]);
  EXPECT_EQ(messageOf([&] { clients[1]->goodbye(); }), errors[0]);
}

TEST(ClientVerdict, WakesWhoWaits) {
  for (bool atBarrier : {false, true}) {
    Port port;
    auto clients = joinAll(port, 4);
    std::atomic<int> waiting = 0;
    std::vector<std::string> errors(4);
    double seconds = secondsOf([&] {
      runProcesses(4, [&](int32_t process) {
        if (process == 3) {
          while (waiting != 3)
            std::this_thread::yield();
          clients[3].reset(); // Without goodbye.
          return;
        }
        ++waiting;
        errors[process] = messageOf([&] {
          if (atBarrier)
            clients[process]->barrier("never", 60s);
          else if (process == 0)
            clients[0]->goodbye();
          else
            clients[process]->wait("never", {3, 60s});
        });
      });
    });
    EXPECT_LT(seconds, timeLimit(1));
    for (int process : {0, 1, 2})
      EXPECT_THAT(errors[process], HasSubstr("failed: it ended without goodbye"));
  }
}

TEST(ClientVerdict, TheCoordinatorsOwnFailureReachesAll) {
  Port port;
  auto clients = joinAll(port, 3);
  std::vector<std::string> errors(3);
  double seconds = secondsOf([&] {
    runProcesses(3, [&](int32_t process) {
      if (process == 0) {
        clients[0]->reportFailure("no such file: x.npy");
        clients[0].reset();
        return;
      }
      while (!clients[process]->isOver())
        std::this_thread::yield();
      errors[process] = messageOf([&] { clients[process]->throwVerdict(); });
      clients[process].reset();
    });
  });
  EXPECT_LT(seconds, timeLimit(1));
  EXPECT_THAT(errors[1], HasSubstr("process 0 (" + hostName()));
  EXPECT_THAT(errors[1], HasSubstr("failed: no such file: x.npy"));
  EXPECT_EQ(errors[1], errors[2]);
}

TEST(ClientVerdict, StandingStillIsWarnedOfThenEnded) {
  Port port;
  std::mutex mutex;
  std::vector<std::string> notices;
  auto clients = joinAll(port, 3, [&](JoinOptions &options) {
    options.collectiveTimeout = 3s;
    if (options.processId == 0)
      options.notice = [&](const Notice &notice) {
        std::lock_guard lock(mutex);
        notices.push_back(notice.text);
      };
  });
  SourceLocation ahead{"mlp.spmd", 9, 1}, behind{"mlp.spmd", 4, 2};
  for (auto &client : clients)
    client->onLaunch();
  clients[0]->atStep(7, 5, ahead);
  clients[1]->atStep(7, 2, behind);
  clients[2]->atStep(7, 5, ahead);
  std::vector<std::string> errors(3);
  double seconds = secondsOf([&] {
    runProcesses(3, [&](int32_t process) {
      while (!clients[process]->isOver())
        std::this_thread::sleep_for(5ms);
      errors[process] = messageOf([&] { clients[process]->throwVerdict(); });
    });
  });
  EXPECT_GT(seconds, 2.9);
  EXPECT_LT(seconds, timeLimit(5));
  EXPECT_THAT(errors, Each(errors[0]));
  EXPECT_THAT(errors[0],
              AllOf(HasSubstr("process 1 ("), HasSubstr("is stuck"), HasSubstr("launch 7, step 2 (mlp.spmd:4:2)"),
                    HasSubstr("processes 0 and 2: launch 7, step 5 (mlp.spmd:9:1)")));
  std::lock_guard lock(mutex);
  EXPECT_THAT(notices, testing::Contains(AllOf(HasSubstr("has not moved for 2 s"), HasSubstr("mlp.spmd:4:2"),
                                               HasSubstr("mlp.spmd:9:1"))));
}

// A slow reader (a paused pager, a full pipe): process 0 reports a refused connection, and its stderr is not read.
TEST(ClientVerdict, WhoReadsNoticesMayTakeHisTime) {
  Port port;
  std::promise<void> paused, resumed;
  auto clients = joinAll(port, 2, [&](JoinOptions &options) {
    options.heartbeatTimeout = 1s;
    if (options.processId == 0)
      options.notice = [&](const Notice &) {
        paused.set_value();
        resumed.get_future().wait();
      };
  });
  EXPECT_THAT(messageOf([&] { Client::join(optionsFor(port, 1, 2)); }), HasSubstr("is already in the job"));
  paused.get_future().wait();
  std::this_thread::sleep_for(1500ms);
  EXPECT_FALSE(clients[0]->isOver());
  EXPECT_FALSE(clients[1]->isOver());
  resumed.set_value();
  sayGoodbye(clients);
}

// `unheeded` is called for a program that may be stuck, but not for a client that has seen the verdict and is
// destroyed.
TEST(ClientVerdict, WhoDoesNotComeBackIsToldOfOnAnotherThread) {
  Port port;
  std::promise<std::string> told;
  std::atomic<int> others = 0;
  auto clients = joinAll(port, 3, [&](JoinOptions &options) {
    bool isStuck = options.processId == 2;
    options.unheeded = [&, isStuck](const Topology &topology, const Verdict &verdict) {
      EXPECT_EQ(topology.processes.size(), 3u);
      isStuck ? told.set_value(verdict.str()) : void(++others);
    };
  });
  clients[1]->reportFailure("device out of memory");
  std::string verdict = messageOf([&] { clients[0]->throwVerdict(); });
  clients[1].reset();
  clients[0].reset();
  std::future<std::string> heard = told.get_future();
  ASSERT_EQ(heard.wait_for(timeLimit(1s)), std::future_status::ready);
  EXPECT_EQ(heard.get(), verdict);
  EXPECT_EQ(others, 0);
}

} // namespace
