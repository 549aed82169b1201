// Real clients over real connections, the processes being threads; what needs real processes is in KillTest.cpp.

#include "runtime/coordinator/Client.h"

#include "runtime/coordinator/Handshake.h"
#include "runtime/coordinator/Protocol.h"
#include "runtime/support/Error.h"
#include "tests/runtime/coordinator/TransportHelper.h"
#include "tests/support/TimeLimit.h"

#include <gmock/gmock.h>

#include <atomic>
#include <mutex>
#include <thread>

#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

using namespace spmd;
using namespace spmd::test;
using namespace std::chrono_literals;
using testing::AllOf;
using testing::Each;
using testing::HasSubstr;

namespace {

using Seconds = std::chrono::duration<double>;

double secondsOf(const std::function<void()> &body) {
  auto begin = std::chrono::steady_clock::now();
  body();
  return Seconds(std::chrono::steady_clock::now() - begin).count();
}

/// What each process's join said, each with its own options.
std::vector<std::string> joinErrors(std::vector<JoinOptions> options) {
  return runProcesses(static_cast<int32_t>(options.size()), [&](int32_t i) { Client::join(options[i])->goodbye(); });
}

std::vector<JoinOptions> optionsForAll(Port &port, int32_t numProcesses) {
  std::vector<JoinOptions> result;
  for (int32_t process = 0; process != numProcesses; ++process)
    result.push_back(optionsFor(port, process, numProcesses));
  return result;
}

void sayGoodbye(std::vector<std::unique_ptr<Client>> &clients) {
  std::vector<std::string> errors = runProcesses(static_cast<int32_t>(clients.size()), [&](int32_t process) {
    clients[process]->goodbye();
    clients[process].reset();
  });
  EXPECT_THAT(errors, Each(""));
}

//===----------------------------------------------------------------------===//
// Joining
//===----------------------------------------------------------------------===//

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
  // The port is free until process 0 comes, last; the others are refused by the kernel and try again.
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
      std::this_thread::sleep_for(50ms); // Not waited for: only makes refused connections likely.
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
  fd.reset(); // Bound by process 0 itself.
  auto clients = joinAll(port, 2, [](JoinOptions &options) { options.listenFd = std::nullopt; });
  EXPECT_EQ(clients[0]->topology().processes[1].address, "::1");
  sayGoodbye(clients);
}

TEST(Client, OneProcessOpensNothing) {
  Port port; // Would be found taken.
  JoinOptions options;
  options.address = port.address;
  options.localDeviceIds = {0, 1, 2};
  auto client = Client::join(options);
  EXPECT_EQ(client->topology().deviceCount(), 3);
  client->set("a", "1");
  EXPECT_EQ(client->wait("a", 0ms), "1");
  EXPECT_THAT(messageOf([&] { client->set("a", "2"); }), HasSubstr("already set"));
  client->removePrefix("");
  EXPECT_THAT(messageOf([&] { client->wait("a", 1ms); }), HasSubstr("nobody has set key `a`"));
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
  check([](JoinOptions &o) { o.address = "::1:80"; }, "an IPv6 address stands in brackets");
  check([](JoinOptions &o) { o.address = "[::1:80"; }, "`[` without `]`");
  check([](JoinOptions &o) { o.address = ":80"; }, "the host is missing");
  check([](JoinOptions &o) { o.address = "http://host:80"; }, "coordinator_address is `http://host:80`");
  check([](JoinOptions &o) { o.localDeviceIds = {}; }, "has no devices");
  check([](JoinOptions &o) { o.initializationTimeout = 0ms; }, "timeout");
  check([](JoinOptions &o) { o.heartbeatTimeout = 10ms; }, "heartbeat_timeout is 10 ms");
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

//===----------------------------------------------------------------------===//
// Joins that fail
//===----------------------------------------------------------------------===//

TEST(Client, MissingProcessesAreListedAtTheDeadline) {
  Port port;
  std::vector<JoinOptions> options;
  for (int32_t process : {0, 2, 5})
    options.push_back(optionsFor(port, process, 6));
  options[0].initializationTimeout = 700ms;
  double seconds = secondsOf([&] {
    std::vector<std::string> errors = joinErrors(options);
    EXPECT_THAT(errors, Each(testing::ContainsRegex("processes 1, 3 and 4 of 6 did not join within [0-9.]+ s ")));
    EXPECT_THAT(errors, Each(errors[0]));
  });
  EXPECT_GE(seconds, 0.69); // Limits travel as whole milliseconds.
  EXPECT_LT(seconds, timeLimit(3));
}

TEST(Client, TheShortestTimeLimitCounts) {
  Port port;
  std::vector<JoinOptions> options = {optionsFor(port, 0, 3), optionsFor(port, 1, 3)};
  options[1].initializationTimeout = 500ms;
  double seconds = secondsOf([&] { EXPECT_THAT(joinErrors(options), Each(HasSubstr("process 2 of 3 did not join"))); });
  EXPECT_LT(seconds, timeLimit(3));
}

TEST(Client, NobodyServesUntilTheDeadline) {
  Port port;
  JoinOptions options = optionsFor(port, 1, 2);
  options.initializationTimeout = 300ms;
  port.fd.reset();
  EXPECT_THAT(messageOf([&] { Client::join(options); }),
              AllOf(HasSubstr("no coordinator was found at 127.0.0.1:"), HasSubstr("Connection refused")));
}

TEST(Client, DifferentColumnsNameBothSidesAndTheFirstLine) {
  Port port;
  std::vector<JoinOptions> options = optionsForAll(port, 4);
  for (JoinOptions &each : options)
    each.columns = {{"--set N", "4"}, {"the program", "mesh m(a=4)\nlet x = 1\nreturn x"}};
  options[2].columns[1].value = "mesh m(a=4)\nlet x = 2\nreturn x";
  double seconds = secondsOf([&] {
    std::vector<std::string> errors = joinErrors(options);
    EXPECT_THAT(errors,
                Each(AllOf(HasSubstr("the program differs at line 2"), HasSubstr("`let x = 1` on processes 0, 1 and 3"),
                           HasSubstr("`let x = 2` on process 2 (" + hostName()))));
    EXPECT_THAT(errors, Each(errors[0]));
  });
  EXPECT_LT(seconds, timeLimit(1));
}

TEST(Client, DifferentDigestsBackendsAndMissingColumns) {
  {
    Port port;
    std::vector<JoinOptions> options = optionsForAll(port, 2);
    options[1].programDigest = "beef";
    EXPECT_THAT(joinErrors(options), Each(HasSubstr("the program's digest differs: empty on process 0")));
  }
  {
    Port port;
    std::vector<JoinOptions> options = optionsForAll(port, 2);
    options[0].backend = "cuda";
    EXPECT_THAT(joinErrors(options), Each(HasSubstr("the backend differs: `cuda` on process 0")));
  }
  {
    Port port;
    std::vector<JoinOptions> options = optionsForAll(port, 2);
    options[1].columns = {{"--steps", "3"}};
    EXPECT_THAT(joinErrors(options), Each(HasSubstr("--steps differs: not given on process 0")));
  }
}

TEST(Client, WrongNumberOfProcessesOnOneIsToldToAll) {
  for (int32_t wrong : {2, 5}) {
    Port port;
    std::vector<JoinOptions> options = optionsForAll(port, 3);
    options[1].numProcesses = wrong;
    double seconds = secondsOf([&] {
      std::vector<std::string> errors = joinErrors(options);
      EXPECT_THAT(errors, Each(AllOf(HasSubstr("num_processes differs"), HasSubstr("`3` on processes 0 and 2"),
                                     HasSubstr("`" + std::to_string(wrong) + "` on process 1"))));
    });
    EXPECT_LT(seconds, timeLimit(1));
  }
}

TEST(Client, ASecondOneWithTheSameIdIsRefusedAndTheJobUntouched) {
  Port port;
  auto clients = joinAll(port, 2);
  for (int32_t id : {0, 1}) {
    Port none;
    JoinOptions options = optionsFor(none, id, 2);
    options.address = clients.empty() ? "" : port.address;
    options.listenFd = std::nullopt;
    std::string error = messageOf([&] { Client::join(options); });
    EXPECT_THAT(error, HasSubstr("process " + std::to_string(id) + " (" + hostName() + ", pid " +
                                 std::to_string(::getpid()) + ") is already in the job"));
    if (id == 0)
      EXPECT_THAT(error, HasSubstr("the port is taken"));
  }
  EXPECT_THAT(runProcesses(2, [&](int32_t process) { clients[process]->barrier("still here", 10s); }), Each(""));
  sayGoodbye(clients);
}

TEST(Client, AnotherJobOnThePortIsNamed) {
  Port port;
  auto clients = joinAll(port, 2, [](JoinOptions &options) { options.jobId = "night run"; });
  Port none;
  for (int32_t id : {0, 1}) {
    JoinOptions options = optionsFor(none, id, 2);
    options.address = port.address;
    options.listenFd = std::nullopt;
    options.jobId = "day run";
    double seconds = secondsOf([&] {
      EXPECT_THAT(messageOf([&] { Client::join(options); }),
                  AllOf(HasSubstr("the job `night run` of process 0"), HasSubstr("belongs to the job `day run`")));
    });
    EXPECT_LT(seconds, timeLimit(1));
  }
  sayGoodbye(clients);
}

TEST(Client, APortTakenBySomethingElseIsNamed) {
  Port port; // Listens, and never says a word.
  JoinOptions options = optionsFor(port, 0, 2);
  port.fd = UniqueFd(*options.listenFd);
  options.listenFd = std::nullopt;
  double seconds = secondsOf([&] {
    EXPECT_THAT(messageOf([&] { Client::join(options); }),
                AllOf(HasSubstr(port.address), HasSubstr("the port is taken by another program")));
  });
  EXPECT_LT(seconds, timeLimit(1.5));
}

TEST(Client, AWrongTokenIsRefusedAndTheJobUntouched) {
  Port port;
  auto clients = joinAll(port, 2);
  Port none;
  JoinOptions options = optionsFor(none, 1, 2);
  options.address = port.address;
  options.token = "another";
  std::string error = messageOf([&] { Client::join(options); });
  EXPECT_THAT(error, HasSubstr("has another token than this process"));
  EXPECT_THAT(error, testing::Not(HasSubstr("a token for tests")));
  EXPECT_THAT(runProcesses(2, [&](int32_t process) { clients[process]->barrier("still here", 10s); }), Each(""));
  sayGoodbye(clients);
}

TEST(Client, WhatIsNoCoordinatorIsSaidToBeNone) {
  Port port;
  std::thread other([&] {
    UniqueFd fd(::accept(port.fd.get(), nullptr, nullptr));
    std::string text = "HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\nServer: something else altogether\r\n\r\n";
    (void)!::send(fd.get(), text.data(), text.size(), MSG_NOSIGNAL);
    waitForClose(fd.get(), 5000);
  });
  JoinOptions options = optionsFor(port, 1, 2);
  EXPECT_THAT(messageOf([&] { Client::join(options); }), HasSubstr("is not a coordinator"));
  other.join();
}

//===----------------------------------------------------------------------===//
// Strangers
//===----------------------------------------------------------------------===//

TEST(Strangers, GarbageAndOversizedFramesAreClosedAndTheJobUntouched) {
  Port port;
  auto clients = joinAll(port, 2);
  UniqueFd garbage = connectTo(port.address);
  std::string text(200, 'G');
  ASSERT_GT(::send(garbage.get(), text.data(), text.size(), MSG_NOSIGNAL), 0);
  std::string received;
  EXPECT_TRUE(waitForClose(garbage.get(), 5000, &received));
  EXPECT_EQ(received, ""); // Who does not know the first word gets no answer.

  // The right first word, then a wrong proof: nothing after it is looked at.
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
  double seconds = Seconds(std::chrono::steady_clock::now() - begin).count();
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

//===----------------------------------------------------------------------===//
// Store and barriers
//===----------------------------------------------------------------------===//

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

//===----------------------------------------------------------------------===//
// Verdicts
//===----------------------------------------------------------------------===//

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
            clients[process]->wait("never", 60s);
        });
      });
    });
    EXPECT_LT(seconds, timeLimit(1));
    for (int process : {0, 1, 2})
      EXPECT_THAT(errors[process], HasSubstr("failed: it ended without goodbye"));
  }
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

} // namespace
