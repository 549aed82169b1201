// The launcher, run as a program: `spmd-test-member launch N COMMAND...`.

#include "runtime/coordinator/Launcher.h"

#include "runtime/coordinator/Protocol.h"
#include "runtime/support/Error.h"
#include "tests/runtime/coordinator/SpawnHelper.h"
#include "tests/runtime/coordinator/TransportHelper.h"
#include "tests/support/TimeLimit.h"

#include <gmock/gmock.h>

#include <cerrno>
#include <csignal>
#include <sstream>

#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace spmd;
using namespace spmd::test;
using namespace std::chrono_literals;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

namespace {

using Clock = std::chrono::steady_clock;

Spawned spawnLauncher(int count, std::vector<std::string> command, const std::string &how = "launch") {
  std::vector<std::string> whole = {SPMD_TEST_MEMBER, how, std::to_string(count)};
  whole.insert(whole.end(), command.begin(), command.end());
  return Spawned(whole, {});
}

/// Returns the children's pids, from the line that the launcher prints.
std::vector<pid_t> pidsOf(Spawned &launcher) {
  EXPECT_TRUE(launcher.waitForOutput("\n"));
  size_t begin = launcher.output.find("started");
  std::istringstream line(launcher.output.substr(begin + 7, launcher.output.find('\n', begin) - begin - 7));
  std::vector<pid_t> pids;
  for (pid_t pid; line >> pid;)
    pids.push_back(pid);
  return pids;
}

void waitForJoined(Spawned &launcher, int count) {
  for (int process = 0; process != count; ++process)
    ASSERT_TRUE(launcher.waitForOutput("[process " + std::to_string(process) + "] joined " + std::to_string(process)))
        << launcher.output;
}

int exitStatus(Spawned &launcher, std::chrono::milliseconds limit) {
  int status = launcher.waitForEnd(limit);
  return status >= 0 && WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

TEST(Launcher, RunsAJobToItsEnd) {
  Spawned launcher = spawnLauncher(4, {SPMD_TEST_MEMBER, "goodbye"});
  std::vector<pid_t> pids = pidsOf(launcher);
  ASSERT_EQ(pids.size(), 4u);
  EXPECT_EQ(exitStatus(launcher, 20s), 0) << launcher.output;
  for (int process = 0; process != 4; ++process) {
    std::string prefix = "[process " + std::to_string(process) + "] ";
    EXPECT_THAT(launcher.output, AllOf(HasSubstr(prefix + "joined " + std::to_string(process) + " " +
                                                 std::to_string(pids[process]) + "\n"),
                                       HasSubstr(prefix + "done\n")));
  }
  EXPECT_THAT(launcher.output, Not(HasSubstr("culprit")));
}

class LauncherKill : public testing::TestWithParam<int32_t> {};

TEST_P(LauncherKill, TheVerdictNamesTheSignal) {
  Spawned launcher = spawnLauncher(4, {SPMD_TEST_MEMBER, "run"});
  std::vector<pid_t> pids = pidsOf(launcher);
  waitForJoined(launcher, 4);
  int32_t victim = GetParam();
  ::kill(pids[victim], SIGKILL);
  auto begin = Clock::now();
  EXPECT_EQ(exitStatus(launcher, 5s), 1);
  EXPECT_LT(Clock::now() - begin, timeLimit(1s));
  std::string who = "process " + std::to_string(victim);
  for (int process = 0; process != 4; ++process)
    if (process != victim)
      EXPECT_THAT(launcher.output,
                  HasSubstr("[process " + std::to_string(process) + "] error: " + who + " (" + hostName() + ", pid " +
                            std::to_string(pids[victim]) + ") was killed by signal 9 (SIGKILL); last seen "));
  EXPECT_THAT(launcher.output, HasSubstr("culprit: " + who + " (pid " + std::to_string(pids[victim]) +
                                         ") was killed by signal 9 (SIGKILL)\n"));
  EXPECT_THAT(launcher.output, Not(HasSubstr("taken down")));
  for (pid_t pid : pids)
    EXPECT_TRUE(waitUntilGone(pid, 0ms));
}

INSTANTIATE_TEST_SUITE_P(EachProcess, LauncherKill, testing::Values(0, 1, 3));

class LauncherEarly : public testing::TestWithParam<int32_t> {};

TEST_P(LauncherEarly, ADeathBeforeJoiningIsToldToAll) {
  std::string victim = std::to_string(GetParam());
  auto begin = Clock::now();
  Spawned launcher = spawnLauncher(3, {SPMD_TEST_MEMBER, "die", victim});
  EXPECT_EQ(exitStatus(launcher, 20s), 1);
  EXPECT_LT(Clock::now() - begin, timeLimit(2s));
  for (int process = 0; process != 3; ++process)
    if (process != GetParam())
      EXPECT_THAT(launcher.output,
                  testing::ContainsRegex("\\[process " + std::to_string(process) + "\\] error: process " + victim +
                                         " \\(.*was killed by signal 9"));
}

TEST_P(LauncherEarly, AnExitBeforeJoiningIsToldToAllAndPassedOn) {
  std::string victim = std::to_string(GetParam());
  Spawned launcher = spawnLauncher(3, {SPMD_TEST_MEMBER, "exit", victim, "7"});
  EXPECT_EQ(exitStatus(launcher, 20s), 7);
  for (int process = 0; process != 3; ++process)
    if (process != GetParam())
      EXPECT_THAT(launcher.output,
                  testing::ContainsRegex("\\[process " + std::to_string(process) + "\\] error: process " + victim +
                                         " \\(.*exited with status 7 without goodbye"));
}

INSTANTIATE_TEST_SUITE_P(EachProcess, LauncherEarly, testing::Values(0, 2));

TEST(Launcher, TakesDownProgramsThatDoNotListen) {
  // The children use no coordinator, ignore SIGTERM, and have children of their own.
  Spawned launcher = spawnLauncher(3, {"/bin/sh", "-c",
                                       "trap '' TERM; sleep 1000 & echo child $!; "
                                       "if [ $SPMD_PROCESS_ID = 1 ]; then exit 5; fi; wait; sleep 1000"});
  auto begin = Clock::now();
  EXPECT_EQ(exitStatus(launcher, 10s), 5);
  EXPECT_LT(Clock::now() - begin, timeLimit(4s));
  EXPECT_THAT(launcher.output, AllOf(HasSubstr("end: process 0 (pid "), HasSubstr("SIGKILL) taken down"),
                                     HasSubstr("culprit: process 1 (pid ")));
  std::istringstream words(launcher.output);
  int grandchildren = 0;
  for (std::string word; words >> word;)
    if (word == "child") {
      pid_t pid;
      words >> pid;
      EXPECT_TRUE(waitUntilGone(pid, 2s));
      ++grandchildren;
    }
  EXPECT_EQ(grandchildren, 3);
}

TEST(Launcher, CtrlCEndsAllWithinTwoSeconds) {
  Spawned launcher = spawnLauncher(3, {SPMD_TEST_MEMBER, "run"});
  std::vector<pid_t> pids = pidsOf(launcher);
  waitForJoined(launcher, 3);
  auto begin = Clock::now();
  launcher.kill(SIGINT);
  EXPECT_EQ(exitStatus(launcher, 5s), 128 + SIGINT);
  EXPECT_LT(Clock::now() - begin, timeLimit(2s));
  for (pid_t pid : pids)
    EXPECT_TRUE(waitUntilGone(pid, 0ms));
}

/// Process 0 of two runs `first` and the other `second`; each prints that it is ready. After a request to end, the
/// launcher kills process 0 within `limit`.
void expectFirstIsKilled(const std::string &first, const std::string &second, std::chrono::milliseconds limit) {
  Spawned launcher = spawnLauncher(
      2, {"/bin/sh", "-c", "if [ $SPMD_PROCESS_ID = 0 ]; then " + first + "; fi; " + second}, "launch-saving");
  for (int process = 0; process != 2; ++process)
    ASSERT_TRUE(launcher.waitForOutput("[process " + std::to_string(process) + "] ready"));
  auto begin = Clock::now();
  launcher.kill(SIGTERM);
  EXPECT_EQ(exitStatus(launcher, 20s), 128 + SIGTERM);
  EXPECT_LT(Clock::now() - begin, timeLimit(limit));
  EXPECT_THAT(launcher.output, HasSubstr("SIGKILL) taken down"));
}

// A job that saves its state may take long, but not after one of its processes has failed: another one may be stopped,
// and would never end.
TEST(Launcher, AfterAFailureNobodyIsWaitedForThatWasAskedToEnd) {
  for (const char *failing :
       {"trap 'exit 1' TERM; echo ready; while :; do sleep 0.05; done", "trap '' TERM; echo ready; exit 5"})
    expectFirstIsKilled("trap '' TERM; echo ready; sleep 1000", failing, 4s);
}

// The launcher does not wait for a stopped process either: the others have saved their state, or had none to save.
TEST(Launcher, AfterOthersHaveEndedNobodyIsWaitedForWithoutLimit) {
  for (const char *ending :
       {"trap 'exit 143' TERM; echo ready; while :; do sleep 0.05; done", "echo ready; exec sleep 1000"})
    expectFirstIsKilled("echo ready; kill -STOP $$", ending, 10s);
}

TEST(Launcher, WaitsForProcessesThatSaveTheirState) {
  Spawned launcher =
      spawnLauncher(2,
                    {"/bin/sh", "-c",
                     "trap 'if [ $SPMD_PROCESS_ID = 0 ]; then sleep 2.5; fi; echo saved; exit 143' TERM; echo ready; "
                     "while :; do sleep 0.05; done"},
                    "launch-saving");
  for (int process = 0; process != 2; ++process)
    ASSERT_TRUE(launcher.waitForOutput("[process " + std::to_string(process) + "] ready"));
  launcher.kill(SIGTERM);
  EXPECT_EQ(exitStatus(launcher, 20s), 128 + SIGTERM);
  EXPECT_THAT(launcher.output, AllOf(HasSubstr("[process 0] saved"), HasSubstr("[process 1] saved")));
}

TEST(Launcher, ItsOwnDeathEndsAllWithinTwoSeconds) {
  Spawned launcher =
      spawnLauncher(2, {"/bin/sh", "-c", "trap '' TERM INT HUP; sleep 1000 & echo child $!; wait; sleep 1000"});
  std::vector<pid_t> pids = pidsOf(launcher);
  std::vector<pid_t> all = pids;
  for (int process = 0; process != 2; ++process)
    ASSERT_TRUE(launcher.waitForOutput("[process " + std::to_string(process) + "] child "));
  launcher.waitForOutput("nothing more", 100ms); // Reads the rest of the last line.
  std::istringstream words(launcher.output);
  for (std::string word; words >> word;)
    if (word == "child") {
      pid_t pid;
      words >> pid;
      all.push_back(pid);
    }
  ASSERT_EQ(all.size(), 4u);
  launcher.kill(SIGKILL);
  auto begin = Clock::now();
  for (pid_t pid : all)
    EXPECT_TRUE(waitUntilGone(pid, 3s));
  EXPECT_LT(Clock::now() - begin, timeLimit(2s));
}

// The time between SIGTERM and SIGKILL is not spent on processes that are dead, even if they are zombies.
TEST(Launcher, NobodyWaitsWhereNobodyIsLeft) {
  ASSERT_EQ(::prctl(PR_SET_CHILD_SUBREAPER, 1), 0);
  Spawned launcher = spawnLauncher(3, {SPMD_TEST_MEMBER, "run"});
  pid_t guard = ::getpgid(pidsOf(launcher).front());
  waitForJoined(launcher, 3);
  auto begin = Clock::now();
  launcher.kill(SIGKILL);
  EXPECT_TRUE(waitUntilGone(guard, 3s));
  EXPECT_LT(Clock::now() - begin, timeLimit(500ms));
  launcher.waitForEnd(5s);
  while (::waitpid(-1, nullptr, 0) > 0 || errno == EINTR)
    ;
  ::prctl(PR_SET_CHILD_SUBREAPER, 0);
}

TEST(Launcher, WhoIsAskedToEndHasItsTime) {
  std::string saved = testing::TempDir() + "spmd-launcher-saved-" + std::to_string(::getpid());
  Spawned launcher = spawnLauncher(1, {"/bin/sh", "-c",
                                       "(trap 'sleep 0.3; echo > " + saved +
                                           "; exit' TERM; echo ready; exec > /dev/null 2>&1; while :; do sleep 0.05; "
                                           "done) & wait"});
  ASSERT_TRUE(launcher.waitForOutput("[process 0] ready"));
  pid_t guard = ::getpgid(pidsOf(launcher).front());
  launcher.kill(SIGKILL);
  EXPECT_TRUE(waitUntilGone(guard, 3s));
  EXPECT_EQ(::unlink(saved.c_str()), 0) << "killed before it had saved its state";
}

TEST(Launcher, LinesAreWholeAndEndsAreKept) {
  Spawned launcher = spawnLauncher(4, {"/bin/sh", "-c",
                                       "i=0; while [ $i -lt 200 ]; do printf 'a%s' b; echo c; i=$((i+1)); done; "
                                       "printf last"});
  EXPECT_EQ(exitStatus(launcher, 20s), 0);
  std::istringstream lines(launcher.output);
  int whole = 0, last = 0;
  for (std::string line; std::getline(lines, line);) {
    if (line.rfind("[process ", 0) != 0)
      continue;
    whole += line.substr(11) == " abc";
    last += line.substr(11) == " last";
  }
  EXPECT_EQ(whole, 800);
  EXPECT_EQ(last, 4);
}

TEST(Launcher, CannotStartWhatIsNotThere) {
  LaunchOptions options;
  EXPECT_THAT(messageOf([&] { launchLocal(options); }), HasSubstr("no command"));
  options.command = {"/no/such/program"};
  options.numProcesses = 3;
  EXPECT_THAT(messageOf([&] { launchLocal(options); }),
              AllOf(HasSubstr("cannot start `/no/such/program`"), HasSubstr("No such file")));
  options.command = {"spmd-no-such-program"};
  EXPECT_THAT(messageOf([&] { launchLocal(options); }), HasSubstr("cannot start `spmd-no-such-program`"));
  for (int32_t count : {0, coordinator::maxProcesses + 1}) { // No process is started.
    options.numProcesses = count;
    EXPECT_THAT(messageOf([&] { launchLocal(options); }), HasSubstr("but should be from 1 to 16384"));
  }
}

TEST(Launcher, GivesTheEnvironmentAndFindsProgramsInPath) {
  LaunchOptions options;
  options.command = {"sh", "-c",
                     "test \"$SPMD_TEST_VALUE\" = 'a b' && test \"$SPMD_NUM_PROCESSES\" = 2 && "
                     "test -z \"$SPMD_TOKEN_FILE\" && test ${#SPMD_TOKEN} = 64"};
  options.numProcesses = 2;
  options.environment = {{"SPMD_TEST_VALUE", "a b"}};
  std::vector<pid_t> pids;
  options.started = [&](const std::vector<pid_t> &started, const std::string &) { pids = started; };
  LaunchResult result = launchLocal(options);
  EXPECT_EQ(result.exitStatus(), 0);
  EXPECT_EQ(pids.size(), 2u);
  ASSERT_EQ(result.children.size(), 2u);
  EXPECT_EQ(result.children[1].pid, pids[1]);
}

} // namespace
