// Real processes are killed and stopped, without a launcher: each could be started in a shell of its own.

#include "tests/runtime/coordinator/SpawnHelper.h"
#include "tests/runtime/coordinator/TransportHelper.h"
#include "tests/support/TimeLimit.h"

#include <gmock/gmock.h>

#include <csignal>
#include <sys/wait.h>
#include <unistd.h>

using namespace spmd;
using namespace spmd::test;
using namespace std::chrono_literals;
using testing::AllOf;
using testing::HasSubstr;

namespace {

using Clock = std::chrono::steady_clock;

std::vector<Spawned> spawnJob(int32_t count, const std::vector<std::string> &arguments,
                              const std::string &heartbeatTimeout = "10") {
  Port port;
  std::vector<Spawned> result;
  for (int32_t process = 0; process != count; ++process) {
    std::vector<std::string> command = {SPMD_TEST_MEMBER};
    command.insert(command.end(), arguments.begin(), arguments.end());
    std::vector<std::pair<std::string, std::string>> environment = {{"SPMD_COORDINATOR_ADDRESS", port.address},
                                                                    {"SPMD_NUM_PROCESSES", std::to_string(count)},
                                                                    {"SPMD_PROCESS_ID", std::to_string(process)},
                                                                    {"SPMD_TOKEN", "for tests"},
                                                                    {"SPMD_HEARTBEAT_TIMEOUT", heartbeatTimeout}};
    if (process == 0)
      environment.emplace_back("SPMD_COORDINATOR_FD", std::to_string(port.fd.get()));
    result.emplace_back(command, environment, process == 0 ? port.fd.get() : -1);
  }
  return result;
}

std::string lastLine(const std::string &output) {
  size_t end = output.find_last_not_of('\n');
  return output.substr(output.rfind('\n', end) + 1, end - output.rfind('\n', end));
}

class Kill : public testing::TestWithParam<int32_t> {};

TEST_P(Kill, AllOthersExitWithinASecondAndNameTheVictim) {
  constexpr int32_t count = 4;
  std::vector<Spawned> job = spawnJob(count, {"run"});
  for (Spawned &process : job)
    ASSERT_TRUE(process.waitForOutput("at work"))
        << process.output; // Less than half a second: it is known all the same.
  int32_t victim = GetParam();
  job[victim].kill(SIGKILL);
  auto begin = Clock::now();
  std::string expected = "error: process " + std::to_string(victim) + " (" + hostName() + ", pid " +
                         std::to_string(job[victim].pid) + ") was lost without goodbye; last seen at launch ";
  std::string first;
  for (int32_t process = 0; process != count; ++process) {
    if (process == victim)
      continue;
    int status = job[process].waitForEnd(3s);
    ASSERT_TRUE(status >= 0 && WIFEXITED(status)) << process;
    EXPECT_EQ(WEXITSTATUS(status), 1);
    std::string line = lastLine(job[process].output);
    EXPECT_THAT(line, AllOf(HasSubstr(expected), HasSubstr(", step "), HasSubstr("(mlp.spmd:5:7)")));
    if (first.empty())
      first = line;
    EXPECT_EQ(line, first);
  }
  EXPECT_LT(Clock::now() - begin, timeLimit(1s));
}

INSTANTIATE_TEST_SUITE_P(EachProcess, Kill, testing::Values(0, 1, 2, 3));

TEST(Kill, DuringTheRollCall) {
  // Three of four have joined; one of them is killed.
  Port port;
  std::vector<Spawned> job;
  for (int32_t process : {0, 1, 2}) {
    std::vector<std::pair<std::string, std::string>> environment = {{"SPMD_COORDINATOR_ADDRESS", port.address},
                                                                    {"SPMD_NUM_PROCESSES", "4"},
                                                                    {"SPMD_PROCESS_ID", std::to_string(process)},
                                                                    {"SPMD_TOKEN", "for tests"}};
    if (process == 0)
      environment.emplace_back("SPMD_COORDINATOR_FD", std::to_string(port.fd.get()));
    job.emplace_back(std::vector<std::string>{SPMD_TEST_MEMBER, "run"}, environment, process == 0 ? port.fd.get() : -1);
  }
  port.fd.reset();
  for (Spawned &process : job)
    ASSERT_TRUE(process.waitForOutput("notice: waiting for process 3 of 4 to join (5 s of ")) << process.output;
  job[2].kill(SIGKILL);
  auto begin = Clock::now();
  for (int32_t process : {0, 1}) {
    int status = job[process].waitForEnd(3s);
    ASSERT_TRUE(status >= 0 && WIFEXITED(status));
    EXPECT_EQ(WEXITSTATUS(status), 1);
    EXPECT_THAT(job[process].output, AllOf(HasSubstr("process 2 ("),
                                           HasSubstr("was lost without goodbye; last seen before its first step")));
  }
  EXPECT_LT(Clock::now() - begin, timeLimit(1s));
}

// It waits for the others at the end. Its last heartbeat before goodbye may have had an earlier position, which must
// not be reported.
TEST(Kill, WhoHasSaidGoodbyeWasLastSeenWhereItEnded) {
  std::vector<Spawned> job = spawnJob(3, {"leave", "1"});
  for (int32_t process : {0, 2})
    ASSERT_TRUE(job[process].waitForOutput("one has left")) << job[process].output;
  job[1].kill(SIGKILL);
  for (int32_t process : {0, 2}) {
    int status = job[process].waitForEnd(5s);
    ASSERT_TRUE(status >= 0 && WIFEXITED(status));
    EXPECT_THAT(job[process].output,
                AllOf(HasSubstr("error: process 1 ("), HasSubstr("; last seen at launch 5, step 0")));
  }
}

TEST(Kill, GoodbyeIsOrderly) {
  std::vector<Spawned> job = spawnJob(4, {"goodbye"});
  for (Spawned &process : job) {
    int status = process.waitForEnd(20s);
    ASSERT_TRUE(status >= 0 && WIFEXITED(status));
    EXPECT_EQ(WEXITSTATUS(status), 0) << process.output;
    EXPECT_THAT(process.output, HasSubstr("done"));
  }
}

TEST(Kill, AFailureIsToldToAll) {
  std::vector<Spawned> job = spawnJob(3, {"fail", "1"});
  for (Spawned &process : job) {
    int status = process.waitForEnd(20s);
    ASSERT_TRUE(status >= 0 && WIFEXITED(status));
    EXPECT_EQ(WEXITSTATUS(status), 1);
    EXPECT_THAT(process.output, AllOf(HasSubstr("error: process 1 ("), HasSubstr(") failed: it was told to")));
  }
}

class Stop : public testing::TestWithParam<int32_t> {};

TEST_P(Stop, IsNamedAfterTheTimeoutButAShorterOneIsForgiven) {
  std::vector<Spawned> job = spawnJob(3, {"run"}, "2");
  for (Spawned &process : job)
    ASSERT_TRUE(process.waitForOutput("joined")) << process.output;
  int32_t victim = GetParam();
  job[victim].kill(SIGSTOP);
  std::this_thread::sleep_for(1200ms);
  job[victim].kill(SIGCONT);
  std::this_thread::sleep_for(1000ms);
  for (Spawned &process : job)
    ASSERT_EQ(process.waitForEnd(0ms), -1) << process.output;

  job[victim].kill(SIGSTOP);
  auto begin = Clock::now();
  for (int32_t process = 0; process != 3; ++process) {
    if (process == victim)
      continue;
    int status = job[process].waitForEnd(6s);
    ASSERT_TRUE(status >= 0 && WIFEXITED(status)) << process;
    EXPECT_THAT(lastLine(job[process].output),
                HasSubstr("process " + std::to_string(victim) + " (" + hostName() + ", pid " +
                          std::to_string(job[victim].pid) + ") hangs: no heartbeat for 2"));
  }
  EXPECT_LT(Clock::now() - begin, timeLimit(3s));
  EXPECT_GT(Clock::now() - begin, 1400ms);
  // It learns of the verdict when it can run again.
  job[victim].kill(SIGCONT);
  int status = job[victim].waitForEnd(4s);
  ASSERT_TRUE(status >= 0 && WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 1);
}

INSTANTIATE_TEST_SUITE_P(EachProcess, Stop, testing::Values(0, 2));

} // namespace
