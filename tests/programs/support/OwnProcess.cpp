//===- OwnProcess.cpp - checks in processes of their own -----------------------===//

#include "tests/programs/support/OwnProcess.h"

#include <cstdio>

#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

namespace spmdc {

static int64_t nowMs() {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec * int64_t(1000) + now.tv_nsec / 1'000'000;
}

std::string runInOwnProcess(const std::function<std::string()> &check, int timeoutSeconds) {
  int ends[2];
  if (pipe(ends) != 0)
    return "cannot create a pipe";
  std::fflush(stdout);
  pid_t child = fork();
  if (child < 0)
    return "cannot start a process";
  if (child == 0) {
    close(ends[0]);
    dup2(ends[1], STDERR_FILENO); // The message of a crash.
    std::string failure = check();
    for (size_t done = 0; done < failure.size();) {
      ssize_t written = write(ends[1], failure.data() + done, failure.size() - done);
      if (written <= 0)
        break;
      done += static_cast<size_t>(written);
    }
    _exit(failure.empty() ? 0 : 1);
  }
  close(ends[1]);
  std::string failure;
  char buffer[4096];
  int64_t deadline = nowMs() + int64_t(1000) * timeoutSeconds;
  for (;;) {
    pollfd wait{ends[0], POLLIN, 0};
    int64_t left = deadline - nowMs();
    if (left <= 0 || poll(&wait, 1, static_cast<int>(left)) == 0) {
      kill(child, SIGKILL);
      failure = "hang: no answer in " + std::to_string(timeoutSeconds) + " s\n";
      break;
    }
    ssize_t count = read(ends[0], buffer, sizeof buffer);
    if (count <= 0)
      break;
    failure.append(buffer, static_cast<size_t>(count));
  }
  close(ends[0]);
  int status = 0;
  waitpid(child, &status, 0);
  if (WIFSIGNALED(status) && failure.rfind("hang", 0) != 0)
    failure = "crash: signal " + std::to_string(WTERMSIG(status)) + ": the compiler was ended\n" + failure;
  return failure;
}

} // namespace spmdc
