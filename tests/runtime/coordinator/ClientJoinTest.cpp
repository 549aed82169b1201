// Joins over real connections; the processes are threads. KillTest.cpp has the tests that need real processes.

#include "runtime/support/Error.h"
#include "tests/runtime/coordinator/TransportHelper.h"
#include "tests/support/TimeLimit.h"

#include <gmock/gmock.h>

#include <atomic>
#include <thread>

#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

using namespace spmd;
using namespace spmd::test;
using namespace std::chrono_literals;
using testing::AllOf;
using testing::Each;
using testing::HasSubstr;

namespace {

TEST(Client, JoinsAndKnowsTheTopology) {
  Port port;
  auto clients = joinAll(port, 4, [](JoinOptions &options) {
    options.localDeviceIds.clear();
    for (int32_t device = 0; device <= options.processId; ++device)
      options.localDeviceIds.push_back(device);
  });
  for (int32_t process = 0; process != 4; ++process) {
    EXPECT_EQ(clients[process]->getProcessId(), process);
    const Topology &topology = clients[process]->topology();
    ASSERT_EQ(topology.processes.size(), 4u);
    EXPECT_EQ(topology.deviceCount(), 1 + 2 + 3 + 4);
    int64_t first = 0;
    for (int32_t other = 0; other != 4; ++other) {
      const ProcessInfo &info = topology.processes[other];
      EXPECT_EQ(info.index, other);
      EXPECT_EQ(info.firstDevice, first);
      EXPECT_EQ(info.deviceCount(), other + 1);
      EXPECT_EQ(info.pid, ::getpid());
      EXPECT_EQ(info.host, hostName());
      EXPECT_EQ(info.bootId, machineId());
      EXPECT_EQ(info.address, "127.0.0.1");
      first += info.deviceCount();
    }
    EXPECT_FALSE(clients[process]->isOver());
  }
  sayGoodbye(clients);
}

TEST(Client, StartsInAnyOrder) {
  // The port is free until process 0 comes, last; the kernel refuses the others, which try again.
  Port reserved;
  std::string address = reserved.address;
  reserved.fd.reset();
  std::atomic<int> trying = 0;
  std::vector<std::string> errors = runProcesses(3, [&](int32_t process) {
    JoinOptions options = optionsFor(reserved, process, 3);
    options.listenFd = std::nullopt;
    if (process != 0) {
      ++trying;
    } else {
      while (trying != 2)
        std::this_thread::yield();
      std::this_thread::sleep_for(50ms); // Only makes refused connections likely.
    }
    Client::join(options)->goodbye();
  });
  EXPECT_THAT(errors, Each(""));
}

TEST(Client, ManyProcessesJoinQuickly) {
  Port port;
  constexpr int32_t count = 64;
  double seconds = secondsOf([&] {
    auto clients = joinAll(port, count);
    sayGoodbye(clients);
  });
  EXPECT_LT(seconds, timeLimit(20));
}

TEST(Client, JoinsOverIPv6) {
  UniqueFd fd(::socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in6 where = {};
  where.sin6_family = AF_INET6;
  where.sin6_addr = in6addr_loopback;
  socklen_t size = sizeof where;
  if (!fd || ::bind(fd.get(), reinterpret_cast<sockaddr *>(&where), size) != 0)
    GTEST_SKIP() << "no IPv6 loopback on this machine";
  ::getsockname(fd.get(), reinterpret_cast<sockaddr *>(&where), &size);
  Port port;
  port.address = "[::1]:" + std::to_string(ntohs(where.sin6_port));
  fd.reset(); // Process 0 binds the port itself.
  auto clients = joinAll(port, 2, [](JoinOptions &options) { options.listenFd = std::nullopt; });
  EXPECT_EQ(clients[0]->topology().processes[1].address, "::1");
  sayGoodbye(clients);
}

TEST(Client, OneProcessOpensNothing) {
  Port port; // Process 0 would find this port taken.
  JoinOptions options;
  options.address = port.address;
  options.localDeviceIds = {0, 1, 2};
  auto client = Client::join(options);
  EXPECT_EQ(client->topology().deviceCount(), 3);
  client->set("a", "1");
  EXPECT_EQ(client->wait("a", {0, 0ms}), "1");
  EXPECT_THAT(messageOf([&] { client->set("a", "2"); }), HasSubstr("already set"));
  client->removePrefix("");
  EXPECT_THAT(messageOf([&] { client->wait("a", {0, 1ms}); }), HasSubstr("no process has set key `a`"));
  client->barrier("b", 1ms);
  EXPECT_FALSE(client->isOver());
  client->reportFailure("broken");
  EXPECT_TRUE(client->isOver());
  EXPECT_THAT(messageOf([&] { client->throwVerdict(); }), HasSubstr("failed: broken"));
}

TEST(Client, WrongArgumentsAreUsageErrorsBeforeAnySocket) {
  auto check = [](const std::function<void(JoinOptions &)> &change, const std::string &expected) {
    JoinOptions options;
    options.address = "127.0.0.1:1";
    options.numProcesses = 4;
    options.processId = 1;
    change(options);
    try {
      Client::join(options);
      ADD_FAILURE() << "no error for " << expected;
    } catch (const Error &error) {
      EXPECT_EQ(error.getKind(), Error::Kind::Usage);
      EXPECT_THAT(error.what(), HasSubstr(expected));
    }
  };
  check([](JoinOptions &o) { o.processId = 4; }, "process_id is 4, but should be from 0 to 3");
  check([](JoinOptions &o) { o.processId = -1; }, "process_id is -1");
  check([](JoinOptions &o) { o.numProcesses = 0; }, "num_processes is 0");
  check([](JoinOptions &o) { o.address = ""; }, "coordinator_address is missing");
  check([](JoinOptions &o) { o.address = "host"; }, "`host`: the port is missing");
  check([](JoinOptions &o) { o.address = "host:0"; }, "the port is not a number from 1");
  check([](JoinOptions &o) { o.address = "host:65536"; }, "the port is not a number from 1");
  check([](JoinOptions &o) { o.address = "::1:80"; }, "an IPv6 address needs brackets");
  check([](JoinOptions &o) { o.address = "[::1:80"; }, "`[` without `]`");
  check([](JoinOptions &o) { o.address = ":80"; }, "the host is missing");
  check([](JoinOptions &o) { o.address = "http://host:80"; }, "coordinator_address is `http://host:80`");
  check([](JoinOptions &o) { o.localDeviceIds = {}; }, "has no devices");
  check([](JoinOptions &o) { o.initializationTimeout = 0ms; }, "initialization_timeout is 0 ms");
  check([](JoinOptions &o) { o.heartbeatTimeout = 10ms; }, "heartbeat_timeout is 10 ms");
  check([](JoinOptions &o) { o.collectiveTimeout = -1ms; }, "collective_timeout is -1 ms");
}

TEST(Client, ServingOthersWithoutATokenIsRefused) {
  Port port;
  std::string address = port.address;
  port.fd.reset();
  JoinOptions options;
  options.address = address;
  options.bindAddress = "0.0.0.0";
  options.numProcesses = 2;
  EXPECT_THAT(messageOf([&] { Client::join(options); }), AllOf(HasSubstr("without a token"), HasSubstr("spmdc token")));
}

} // namespace
