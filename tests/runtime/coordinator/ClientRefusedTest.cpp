// Joins that fail, over real connections; the processes are threads.

#include "tests/runtime/coordinator/TransportHelper.h"
#include "tests/support/TimeLimit.h"

#include <gmock/gmock.h>

#include <atomic>
#include <thread>

#include <sys/socket.h>
#include <unistd.h>

using namespace spmd;
using namespace spmd::test;
using namespace std::chrono_literals;
using testing::AllOf;
using testing::Each;
using testing::HasSubstr;

namespace {

/// Returns the error of each process's join; each has its own options.
std::vector<std::string> joinErrors(std::vector<JoinOptions> options) {
  return runProcesses(static_cast<int32_t>(options.size()), [&](int32_t i) { Client::join(options[i])->goodbye(); });
}

std::vector<JoinOptions> optionsForAll(Port &port, int32_t numProcesses) {
  std::vector<JoinOptions> result;
  for (int32_t process = 0; process != numProcesses; ++process)
    result.push_back(optionsFor(port, process, numProcesses));
  return result;
}

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
  EXPECT_GE(seconds, 0.69); // Limits are sent in milliseconds.
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

// Only if programs differ, the processes send what the programs were compiled from.
TEST(Client, DifferentProgramsNameWhatTheyWereCompiledOf) {
  auto joinWith = [](const std::vector<std::string> &digests, const std::vector<std::string> &sources,
                     const std::vector<std::string> &levels, int &asked) {
    Port port;
    std::vector<JoinOptions> options = optionsForAll(port, static_cast<int32_t>(digests.size()));
    std::atomic<int> count{0};
    for (size_t i = 0; i != options.size(); ++i) {
      options[i].programDigest = digests[i];
      options[i].programDetails = [&, i]() -> std::vector<JoinColumn> {
        ++count;
        if (sources[i].empty()) // This process has no source.
          return {{"the plan", "launch k0"}};
        return {{"-O", levels[i]}, {"the program", sources[i]}, {"the plan", "launch k0"}};
      };
    }
    std::vector<std::string> errors;
    double seconds = secondsOf([&] { errors = joinErrors(options); });
    EXPECT_LT(seconds, timeLimit(1));
    EXPECT_THAT(errors, Each(errors[0]));
    asked = count;
    return errors[0];
  };
  int asked = 0;
  EXPECT_THAT(joinWith({"a", "b", "a"}, {"mesh\nx * 1", "mesh\nx * 2", "mesh\nx * 1"}, {"3", "3", "3"}, asked),
              AllOf(HasSubstr("the program differs at line 2: `x * 1` on processes 0 and 2; `x * 2` on process 1")));
  EXPECT_EQ(asked, 2); // One of each program.
  // A changed comment is not the reported difference; if it moves lines, both line numbers are reported.
  EXPECT_THAT(joinWith({"a", "b"},
                       {"// of Monday\nmesh\n\nx * 1 // as before", "// of Tuesday\n// again\nmesh \n\nx * 2"},
                       {"3", "3"}, asked),
              HasSubstr("the program differs at line 4: `x * 1 // as before` on process 0 ("));
  EXPECT_THAT(joinWith({"a", "b"},
                       {"// of Monday\nmesh\n\nx * 1 // as before", "// of Tuesday\n// again\nmesh \n\nx * 2"},
                       {"3", "3"}, asked),
              HasSubstr("; `x * 2` (line 5) on process 1 ("));
  EXPECT_THAT(joinWith({"a", "b"}, {"m\nprint(\"http://a\")", "m\nprint(\"http://b\")"}, {"3", "3"}, asked),
              HasSubstr("the program differs at line 2: `print(\"http://a\")` on process 0 ("));
  EXPECT_THAT(joinWith({"a", "b"}, {"m\nx", "m // new\nx\nreturn x"}, {"3", "3"}, asked),
              HasSubstr("the program differs at line 3: `(end of the text)` on process 0 ("));
  // No other difference is known.
  EXPECT_THAT(joinWith({"a", "b"}, {"m\nx // old", "m\nx // new"}, {"3", "3"}, asked),
              HasSubstr("the program differs at line 2: `x // old` on process 0 ("));
  EXPECT_THAT(joinWith({"a", "b"}, {"mesh\nx", "mesh\ny"}, {"1", "3"}, asked),
              HasSubstr("options: -O differs: `1` on process 0"));
  // One process has no source, so sources cannot be compared; nothing else differs here.
  EXPECT_THAT(joinWith({"a", "b"}, {"", "mesh\ny"}, {"", "3"}, asked),
              HasSubstr("the program's digest differs: `a` on process 0"));
  EXPECT_EQ(joinWith({"a", "a"}, {"mesh\nx", "mesh\nx # y"}, {"1", "3"}, asked), ""); // All join.
  EXPECT_EQ(asked, 0);
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
  Port port; // Listens, and never answers.
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

} // namespace
