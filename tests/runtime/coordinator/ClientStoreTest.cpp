// The job's store and its barriers over real connections, the processes being threads.

#include "runtime/coordinator/Protocol.h"
#include "tests/runtime/coordinator/TransportHelper.h"

#include <gmock/gmock.h>

#include <atomic>

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
    EXPECT_EQ(clients[process]->wait("addr/1", 10s), binary);
  });
  EXPECT_THAT(errors, Each(""));
  clients[2]->set("addr/1", binary);
  EXPECT_THAT(messageOf([&] { clients[2]->set("addr/1", "x"); }),
              HasSubstr("key `addr/1` of the job's store is already"));
  clients[0]->set("addr/2", "2");
  clients[0]->set("b", "3");
  clients[1]->removePrefix("addr/");
  EXPECT_THAT(messageOf([&] { clients[2]->wait("addr/2", 20ms); }), HasSubstr("nobody has set key `addr/2`"));
  EXPECT_EQ(clients[2]->wait("b", 0ms), "3");
  EXPECT_THAT(messageOf([&] { clients[2]->set(std::string(2000, 'k'), ""); }), HasSubstr("the limit is 1024"));
  std::string large(coordinator::maxValueBytes, 'v');
  clients[0]->set("large", large);
  EXPECT_EQ(clients[1]->wait("large", 10s), large);
  EXPECT_THAT(messageOf([&] { clients[0]->set("larger", large + "v"); }), HasSubstr("the limit is 1048576"));
  sayGoodbye(clients);
}

TEST(ClientStore, ManyThreadsOfOneProcessMayWait) {
  Port port;
  auto clients = joinAll(port, 2);
  std::vector<std::string> errors = runProcesses(16, [&](int32_t thread) {
    std::string key = std::to_string(thread / 2);
    if (thread % 2 == 0)
      EXPECT_EQ(clients[0]->wait(key, 10s), "value " + key);
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
