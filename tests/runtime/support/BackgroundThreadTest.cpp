#include "runtime/support/BackgroundThread.h"

#include "runtime/support/Error.h"
#include "tests/support/FewThreads.h"

#include <atomic>
#include <csignal>
#include <fstream>
#include <future>

#include <gtest/gtest.h>
#include <pthread.h>
#include <set>
#include <sys/syscall.h>
#include <unistd.h>

using spmd::BackgroundThread;

namespace {

/// Signals that a fault of the thread itself raises.
const std::set<int> faults = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS};

/// Returns which of the classic signals that can be blocked the calling thread has blocked.
std::set<int> blockedSignals() {
  sigset_t mask;
  pthread_sigmask(SIG_SETMASK, nullptr, &mask);
  std::set<int> blocked;
  for (int number = 1; number < 32; ++number)
    if (sigismember(&mask, number) == 1)
      blocked.insert(number);
  return blocked;
}

std::string nameOf(pid_t thread) {
  std::ifstream file("/proc/self/task/" + std::to_string(thread) + "/comm");
  std::string name;
  std::getline(file, name);
  return name;
}

pid_t threadId() { return static_cast<pid_t>(::syscall(SYS_gettid)); }

/// Returns the name that the system shows for a thread while it runs.
std::string shownName(const std::string &given) {
  std::promise<pid_t> id;
  std::promise<void> end;
  BackgroundThread thread(given, [&] {
    id.set_value(threadId());
    end.get_future().wait();
  });
  std::string name = nameOf(id.get_future().get());
  end.set_value();
  return name;
}

TEST(BackgroundThread, TakesNoSignalsButItsOwnFaults) {
  std::set<int> expected;
  for (int number = 1; number < 32; ++number)
    if (number != SIGKILL && number != SIGSTOP && !faults.count(number))
      expected.insert(number);
  std::set<int> inside;
  BackgroundThread("spmd-test", [&] { inside = blockedSignals(); }).join();
  EXPECT_EQ(inside, expected);
}

TEST(BackgroundThread, LeavesTheCallersSignalsAsTheyWere) {
  sigset_t one, old;
  sigemptyset(&one);
  sigaddset(&one, SIGUSR1);
  pthread_sigmask(SIG_BLOCK, &one, &old);
  std::set<int> before = blockedSignals();
  BackgroundThread thread("spmd-test", [] {});
  std::set<int> after = blockedSignals();
  pthread_sigmask(SIG_SETMASK, &old, nullptr);
  EXPECT_EQ(before.count(SIGUSR1), 1u);
  EXPECT_EQ(after, before);
}

TEST(BackgroundThread, ASignalToTheProcessIsHandledByAnotherThread) {
  static int handled[2];
  ASSERT_EQ(::pipe(handled), 0);
  struct sigaction handler = {}, old = {};
  handler.sa_handler = [](int) {
    pid_t by = threadId();
    if (::write(handled[1], &by, sizeof by) != sizeof by)
      ::_exit(1);
  };
  handler.sa_flags = SA_RESTART;
  ASSERT_EQ(sigaction(SIGUSR2, &handler, &old), 0);
  std::promise<void> end;
  BackgroundThread thread("spmd-test", [&] {
    ::kill(::getpid(), SIGUSR2);
    end.get_future().wait();
  });
  pid_t by = 0;
  EXPECT_EQ(::read(handled[0], &by, sizeof by), ssize_t(sizeof by));
  EXPECT_EQ(by, threadId());
  end.set_value();
  thread.join();
  sigaction(SIGUSR2, &old, nullptr);
  ::close(handled[0]);
  ::close(handled[1]);
}

TEST(BackgroundThreadDeathTest, AFaultOfItsOwnReachesTheProcessesHandler) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(
      {
        std::signal(SIGFPE, [](int) { ::_exit(7); });
        BackgroundThread("spmd-test", [] { std::raise(SIGFPE); }).join();
        ::_exit(0);
      },
      testing::ExitedWithCode(7), "");
}

TEST(BackgroundThread, BearsItsName) {
  EXPECT_EQ(shownName("spmd-test"), "spmd-test");
  EXPECT_EQ(shownName("spmd-fifteen-by"), "spmd-fifteen-by");
  EXPECT_EQ(shownName("spmd-more-than-fifteen-bytes"), "spmd-more-than-");
}

TEST(BackgroundThread, IsJoinedWhenItsOwnerGoes) {
  std::atomic<bool> isAsked{false}, hasEnded{false};
  {
    BackgroundThread thread("spmd-test", [&] {
      while (!isAsked)
        std::this_thread::yield();
      hasEnded = true;
    });
    EXPECT_TRUE(thread.joinable());
    EXPECT_FALSE(hasEnded);
    isAsked = true;
  }
  EXPECT_TRUE(hasEnded);
}

TEST(BackgroundThread, ReplacementWaitsForTheOldThread) {
  std::atomic<int> ended{0};
  BackgroundThread thread("spmd-old", [&] { ++ended; });
  thread = BackgroundThread("spmd-new", [&] { ++ended; });
  EXPECT_GE(ended, 1);
  thread.join();
  EXPECT_EQ(ended, 2);
  EXPECT_FALSE(thread.joinable());
}

TEST(BackgroundThread, WithoutAThreadThereIsNothingToWaitFor) {
  BackgroundThread none;
  EXPECT_FALSE(none.joinable());
  EXPECT_FALSE(none.isCurrent());
  none.join();
}

TEST(BackgroundThread, CanBeLetGoFromWithin) {
  std::promise<bool> wasCurrent;
  std::promise<void> isMade;
  auto thread = std::make_unique<BackgroundThread>();
  *thread = BackgroundThread("spmd-test", [&] {
    isMade.get_future().wait();
    bool current = thread->isCurrent();
    thread->detach();
    thread.reset();
    wasCurrent.set_value(current);
  });
  EXPECT_FALSE(thread->isCurrent());
  isMade.set_value();
  EXPECT_TRUE(wasCurrent.get_future().get());
  EXPECT_EQ(thread, nullptr);
}

TEST(BackgroundThread, AThreadThatCannotBeStartedSaysWhy) {
  std::set<int> before = blockedSignals();
  std::string message;
  bool hasRun = false;
  {
    spmd::test::FewThreads none(0);
    try {
      BackgroundThread thread("spmd-test", [&] { hasRun = true; });
    } catch (const spmd::Error &error) {
      message = error.what();
    }
  }
  EXPECT_EQ(message,
            "cannot start the thread spmd-test: Resource temporarily unavailable; `ulimit -u`, the container's "
            "limit of processes, or memory may be used up");
  EXPECT_FALSE(hasRun);
  EXPECT_EQ(blockedSignals(), before);
}

} // namespace
