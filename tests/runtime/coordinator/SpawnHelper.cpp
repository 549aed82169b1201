#include "tests/runtime/coordinator/SpawnHelper.h"

#include "runtime/support/Env.h"
#include "tests/support/TimeLimit.h"

#include <csignal>
#include <stdexcept>

#include <fcntl.h>
#include <poll.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

namespace spmd::test {

using Clock = std::chrono::steady_clock;

static int left(Clock::time_point deadline) {
  auto rest = std::chrono::ceil<std::chrono::milliseconds>(deadline - Clock::now()).count();
  return static_cast<int>(std::max<int64_t>(rest, 0));
}

Spawned::Spawned(const std::vector<std::string> &command,
                 const std::vector<std::pair<std::string, std::string>> &environment, int inheritedFd) {
  std::vector<std::pair<std::string, std::optional<std::string>>> changes;
  for (const auto &[name, value] : environment)
    changes.emplace_back(name, value);
  std::vector<std::string> entries = environmentWith(changes);
  std::vector<char *> arguments, variables;
  for (const std::string &text : command)
    arguments.push_back(const_cast<char *>(text.c_str()));
  for (const std::string &text : entries)
    variables.push_back(const_cast<char *>(text.c_str()));
  arguments.push_back(nullptr);
  variables.push_back(nullptr);
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0)
    throw std::runtime_error("no pipe");
  stream = UniqueFd(ends[0]);
  UniqueFd writing(ends[1]);
  pid = ::fork();
  if (pid == 0) {
    // A shell's background commands ignore it, and launchers started there would inherit that.
    ::signal(SIGINT, SIG_DFL);
    ::dup2(writing.get(), STDOUT_FILENO);
    if (inheritedFd >= 0)
      ::fcntl(inheritedFd, F_SETFD, 0);
    ::execve(arguments[0], arguments.data(), variables.data());
    ::_exit(126);
  }
  exitFd = UniqueFd(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
}

Spawned::Spawned(Spawned &&other) noexcept
    : pid(std::exchange(other.pid, -1)), output(std::move(other.output)), stream(std::move(other.stream)),
      exitFd(std::move(other.exitFd)), ended(other.ended), status(other.status) {}

Spawned::~Spawned() {
  if (pid < 0 || ended)
    return;
  ::kill(pid, SIGKILL);
  ::waitpid(pid, nullptr, 0);
}

void Spawned::kill(int signal) { ::kill(pid, signal); }

bool Spawned::readSome(std::chrono::milliseconds limit) {
  pollfd wait = {stream.get(), POLLIN, 0};
  if (!stream || ::poll(&wait, 1, static_cast<int>(limit.count())) <= 0)
    return false;
  char buffer[4096];
  ssize_t size = ::read(stream.get(), buffer, sizeof buffer);
  if (size <= 0)
    return false;
  output.append(buffer, static_cast<size_t>(size));
  return true;
}

bool Spawned::waitForOutput(const std::string &text, std::chrono::milliseconds limit) {
  auto deadline = Clock::now() + timeLimit(limit);
  while (output.find(text) == std::string::npos)
    if (!readSome(std::chrono::milliseconds(left(deadline))))
      return false;
  return true;
}

int Spawned::waitForEnd(std::chrono::milliseconds limit) {
  auto deadline = Clock::now() + timeLimit(limit);
  pollfd wait = {exitFd.get(), POLLIN, 0};
  if (::poll(&wait, 1, left(deadline)) <= 0)
    return -1;
  ::waitpid(pid, &status, 0);
  ended = true;
  while (readSome(std::chrono::milliseconds(0)))
    ;
  return status;
}

bool waitUntilGone(pid_t pid, std::chrono::milliseconds limit) {
  // The pidfd becomes readable at the end; if it cannot be opened, the process is gone already.
  UniqueFd fd(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
  pollfd wait = {fd.get(), POLLIN, 0};
  return !fd || ::poll(&wait, 1, static_cast<int>(timeLimit(limit).count())) > 0;
}

} // namespace spmd::test
