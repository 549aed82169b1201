// Connections to the coordinator's port that are no process of the job.

#include "runtime/coordinator/Handshake.h"
#include "tests/runtime/coordinator/TransportHelper.h"
#include "tests/support/TimeLimit.h"

#include <gmock/gmock.h>

#include <sys/socket.h>

using namespace spmd;
using namespace spmd::test;
using namespace std::chrono_literals;
using testing::Each;

namespace {

TEST(Strangers, GarbageAndOversizedFramesAreClosedAndTheJobUntouched) {
  Port port;
  auto clients = joinAll(port, 2);
  UniqueFd garbage = connectTo(port.address);
  std::string text(200, 'G');
  ASSERT_GT(::send(garbage.get(), text.data(), text.size(), MSG_NOSIGNAL), 0);
  std::string received;
  EXPECT_TRUE(waitForClose(garbage.get(), 5000, &received));
  EXPECT_EQ(received, ""); // A peer with a wrong opening gets no answer.

  // A valid opening, then a wrong proof: nothing after it is read.
  UniqueFd wrongProof = connectTo(port.address);
  coordinator::Opening opening;
  text = opening.encode() + std::string(32, 'x') + std::string("\xff\xff\xff\xff", 4);
  ASSERT_GT(::send(wrongProof.get(), text.data(), text.size(), MSG_NOSIGNAL), 0);
  EXPECT_TRUE(waitForClose(wrongProof.get(), 5000));

  EXPECT_THAT(runProcesses(2, [&](int32_t process) { clients[process]->barrier("still here", 10s); }), Each(""));
  sayGoodbye(clients);
}

TEST(Strangers, SilentOnesAreClosedAfterFiveSeconds) {
  Port port;
  auto clients = joinAll(port, 2);
  std::vector<UniqueFd> silent;
  for (int i = 0; i != 50; ++i)
    silent.push_back(connectTo(port.address));
  auto begin = std::chrono::steady_clock::now();
  for (UniqueFd &fd : silent)
    EXPECT_TRUE(waitForClose(fd.get(), 8000));
  double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  EXPECT_GT(seconds, 3);
  EXPECT_LT(seconds, timeLimit(7));
  sayGoodbye(clients);
}

TEST(Strangers, AFloodDoesNotKeepProcessesOut) {
  Port port;
  std::vector<UniqueFd> silent;
  JoinOptions first = optionsFor(port, 0, 2);
  std::vector<std::string> errors = runProcesses(2, [&](int32_t process) {
    if (process == 0) {
      Client::join(first)->goodbye();
      return;
    }
    for (int i = 0; i != 400; ++i)
      silent.push_back(connectTo(port.address));
    JoinOptions options = first;
    options.processId = 1;
    options.listenFd = std::nullopt;
    double seconds = secondsOf([&] { Client::join(options)->goodbye(); });
    EXPECT_LT(seconds, timeLimit(3));
  });
  EXPECT_THAT(errors, Each(""));
}

} // namespace
