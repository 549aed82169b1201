// The job's store and its barriers over real connections; the processes are threads.

#include "runtime/coordinator/Protocol.h"
#include "tests/runtime/coordinator/TransportHelper.h"
#include "tests/support/TimeLimit.h"

#include <gmock/gmock.h>

#include <atomic>
#include <thread>

#include <unistd.h>

using namespace spmd;
using namespace spmd::test;
using namespace std::chrono_literals;
using testing::AllOf;
using testing::Each;
using testing::HasSubstr;

namespace {

TEST(ClientStore, SetsWaitsAndRemoves) {
  Port port;
  auto clients = joinAll(port, 3);
  std::string binary("\0\xff\n", 3);
  std::vector<std::string> errors = runProcesses(3, [&](int32_t process) {
    if (process == 1)
      clients[1]->set("addr/1", binary);
    EXPECT_EQ(clients[process]->wait("addr/1", {1, 10s}), binary);
  });
  EXPECT_THAT(errors, Each(""));
  clients[2]->set("addr/1", binary);
  EXPECT_THAT(messageOf([&] { clients[2]->set("addr/1", "x"); }),
              HasSubstr("key `addr/1` of the job's store is already"));
  clients[0]->set("addr/2", "2");
  clients[0]->set("b", "3");
  clients[1]->removePrefix("addr/");
  EXPECT_THAT(messageOf([&] { clients[2]->wait("addr/2", {0, 20ms}); }), HasSubstr("no process has set key `addr/2`"));
  EXPECT_EQ(clients[2]->wait("b", {0, 0ms}), "3");
  EXPECT_THAT(messageOf([&] { clients[2]->set(std::string(2000, 'k'), ""); }), HasSubstr("the limit is 1024"));
  std::string large(coordinator::maxValueBytes, 'v');
  clients[0]->set("large", large);
  EXPECT_EQ(clients[1]->wait("large", {0, 10s}), large);
  EXPECT_THAT(messageOf([&] { clients[0]->set("larger", large + "v"); }), HasSubstr("the limit is 1048576"));
  sayGoodbye(clients);
}

TEST(ClientStore, ManyThreadsOfOneProcessMayWait) {
  Port port;
  auto clients = joinAll(port, 2);
  std::vector<std::string> errors = runProcesses(16, [&](int32_t thread) {
    std::string key = std::to_string(thread / 2);
    if (thread % 2 == 0)
      EXPECT_EQ(clients[0]->wait(key, {1, 10s}), "value " + key);
    else
      clients[1]->set(key, "value " + key);
  });
  EXPECT_THAT(errors, Each(""));
  sayGoodbye(clients);
}

TEST(ClientBarrier, IsReachedByAllAndCanBeUsedAgain) {
  Port port;
  auto clients = joinAll(port, 4);
  std::atomic<int> arrived = 0;
  std::vector<std::string> errors = runProcesses(4, [&](int32_t process) {
    for (int round = 1; round <= 20; ++round) {
      ++arrived;
      clients[process]->barrier("round", 10s);
      EXPECT_GE(arrived.load(), round * 4);
      clients[process]->barrier("after", 10s);
    }
  });
  EXPECT_THAT(errors, Each(""));
  sayGoodbye(clients);
}

TEST(ClientBarrier, ListsExactlyTheAbsentAtTheTimeLimit) {
  Port port;
  auto clients = joinAll(port, 4);
  std::vector<std::string> errors(4);
  runProcesses(2, [&](int32_t i) {
    errors[i] = messageOf([&] { clients[i * 2]->barrier("loaded", i == 0 ? 100ms : 60'000ms); });
  });
  std::string me = " (" + hostName() + ", pid " + std::to_string(::getpid()) + ")";
  for (int i : {0, 1})
    EXPECT_THAT(errors[i], AllOf(HasSubstr("barrier `loaded` was not reached within"),
                                 HasSubstr("by process 1" + me + ", process 3" + me)));
  EXPECT_EQ(messageOf([&] { clients[1]->barrier("loaded", 10s); }), errors[0]);
  EXPECT_THAT(runProcesses(4, [&](int32_t process) { clients[process]->barrier("other", 10s); }), Each(""));
  sayGoodbye(clients);
}

// Each process waits for the other with its only thread: both get an error at once, and so does a process that comes
// later.
TEST(ClientBarrier, ProcessesAtTwoBarriersAreToldAtOnce) {
  Port port;
  std::vector<JoinOptions> options;
  for (int32_t process = 0; process != 3; ++process)
    options.push_back(optionsFor(port, process, 3));
  std::atomic<int> told{0};
  std::vector<std::string> errors = runProcesses(3, [&](int32_t process) {
    auto client = Client::join(options[process]);
    auto tell = [&](const char *name) {
      std::string error;
      EXPECT_LT(secondsOf([&] { error = messageOf([&] { client->barrier(name, 60s); }); }), timeLimit(2));
      EXPECT_THAT(error, AllOf(HasSubstr("process 0 ("), HasSubstr("process 1 ("), HasSubstr("`loaded`"),
                               HasSubstr("`saved`"), HasSubstr("cannot be reached"), HasSubstr("in the same order")));
      ++told;
    };
    if (process < 2)
      return tell(process == 0 ? "loaded" : "saved"), client->goodbye();
    while (told != 2)
      std::this_thread::sleep_for(1ms);
    tell("loaded");
    client->goodbye();
  });
  EXPECT_THAT(errors, Each(""));
}

// A program may save on a thread of its own while the first thread works.
TEST(ClientBarrier, ThreadsOfOneProcessMayWaitAtTwo) {
  Port port;
  std::vector<JoinOptions> options;
  for (int32_t process = 0; process != 2; ++process)
    options.push_back(optionsFor(port, process, 2));
  std::vector<std::string> errors = runProcesses(2, [&](int32_t process) {
    auto client = Client::join(options[process]);
    std::string error;
    std::thread other([&] { error = messageOf([&] { client->barrier("saved", 30s); }); });
    if (process == 0)
      std::this_thread::sleep_for(300ms); // Process 1 waits at the first, process 0 at the second.
    client->barrier("step", 30s);
    other.join();
    EXPECT_EQ(error, "no error");
    client->goodbye();
  });
  EXPECT_THAT(errors, Each(""));
}

TEST(ClientBarrier, CannotBeReachedOnceSomebodyHasLeft) {
  Port port;
  auto clients = joinAll(port, 3);
  std::vector<std::string> errors(3);
  runProcesses(3, [&](int32_t process) {
    if (process != 2)
      errors[process] = messageOf([&] { clients[process]->barrier("loaded", 60s); });
    clients[process]->goodbye();
  });
  for (int process : {0, 1})
    EXPECT_THAT(errors[process],
                AllOf(HasSubstr("barrier `loaded` cannot be reached: process 2 ("), HasSubstr("has left the job")));
}

} // namespace
