#include "runtime/coordinator/ProcessGroup.h"

#include "runtime/support/Error.h"
#include "runtime/support/Process.h"

#include <algorithm>
#include <cerrno>
#include <climits>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <ctime>

#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

namespace spmd::coordinator {

static Error systemError(const std::string &what) { return Error(what + ": " + systemErrorText(errno)); }

/// Returns whether the process of this folder in /proc runs and belongs to our process group.
static bool isRunningMember(int processes, const char *folder) {
  char name[NAME_MAX + 8], line[256] = {}; // `4711 (name) S 1 4700 ...`: state, parent, group.
  snprintf(name, sizeof name, "%s/stat", folder);
  int file = openat(processes, name, O_RDONLY);
  if (file < 0)
    return false;
  (void)!read(file, line, sizeof line - 1);
  close(file);
  char state;
  pid_t group;
  const char *rest = strrchr(line, ')');
  return rest && sscanf(rest, ") %c %*d %d", &state, &group) == 2 && group == getpgrp() && state != 'Z' && state != 'X';
}

/// Returns whether other processes of our group run. kill() would count zombies too: their parent is gone, and not
/// every container has an init process that reaps them.
static bool isAnyMemberLeft() {
  int processes = open("/proc", O_RDONLY | O_DIRECTORY);
  alignas(dirent64) char entries[4096];
  int count = 0;
  for (long size; count < 2 && (size = syscall(SYS_getdents64, processes, entries, sizeof entries)) > 0;)
    for (const char *at = entries; at < entries + size; at += reinterpret_cast<const dirent64 *>(at)->d_reclen) {
      const char *name = reinterpret_cast<const dirent64 *>(at)->d_name;
      count += *name >= '1' && *name <= '9' && isRunningMember(processes, name);
    }
  close(processes);
  return count != 1; // With a count of 0, not even this process, /proc belongs to another namespace or cannot be read.
}

static long millisecondsNow() {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/// The guard's main function. Allocates nothing, because the guard is a fork of a process that may have had other
/// threads.
[[noreturn]] static void guardGroup(int lifeline, long graceMilliseconds) {
  sigset_t all;
  sigfillset(&all);
  sigprocmask(SIG_SETMASK, &all, nullptr);
  // The guard must not keep a pipe of another process open, nor a folder busy.
  if (lifeline != 0)
    dup2(lifeline, 0);
  syscall(SYS_close_range, 1u, ~0u, 0u);
  if (chdir("/") != 0)
    _exit(1);
  prctl(PR_SET_NAME, "spmd-guard");
  char byte;
  while (read(0, &byte, 1) < 0 && errno == EINTR)
    ;
  kill(0, SIGTERM);
  // Most are gone at once, because the kernel kills them.
  long end = millisecondsNow() + graceMilliseconds;
  for (long pause = 2; millisecondsNow() < end && isAnyMemberLeft(); pause = std::min(2 * pause, 50l)) {
    timespec time = {0, pause * 1'000'000};
    nanosleep(&time, nullptr);
  }
  kill(0, SIGKILL);
  _exit(0);
}

ProcessGroup::ProcessGroup(std::chrono::milliseconds grace) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0)
    throw systemError("cannot create a pipe");
  UniqueFd reading(ends[0]);
  lifeline = UniqueFd(ends[1]);
  guard = fork();
  if (guard < 0)
    throw systemError("cannot start a process");
  if (guard == 0) {
    setpgid(0, 0);
    close(ends[1]);
    guardGroup(ends[0], static_cast<long>(grace.count()));
  }
  setpgid(guard, guard); // Both processes do this, so that it is done whichever runs first.
}

ProcessGroup::~ProcessGroup() {
  kill(-guard, SIGKILL);
  while (waitpid(guard, nullptr, 0) < 0 && errno == EINTR)
    ;
}

void ProcessGroup::signal(int number) { kill(-guard, number); }

namespace {

/// Arguments for the child, prepared before fork: between fork and exec nothing may be allocated.
struct Prepared {
  std::vector<char *> arguments, environment;
  std::vector<std::string> candidates; ///< Full paths of the program, in the order of PATH.
};

std::vector<char *> pointers(const std::vector<std::string> &texts) {
  std::vector<char *> result;
  for (const std::string &text : texts)
    result.push_back(const_cast<char *>(text.c_str()));
  result.push_back(nullptr);
  return result;
}

std::vector<std::string> findProgram(const std::string &program, const std::vector<std::string> &environment) {
  if (program.find('/') != std::string::npos)
    return {program};
  std::string path = "/usr/local/bin:/usr/bin:/bin";
  for (const std::string &entry : environment)
    if (entry.compare(0, 5, "PATH=") == 0)
      path = entry.substr(5);
  std::vector<std::string> result;
  for (size_t begin = 0; begin <= path.size();) {
    size_t end = std::min(path.find(':', begin), path.size());
    result.push_back((end == begin ? "." : path.substr(begin, end - begin)) + "/" + program);
    begin = end + 1;
  }
  return result;
}

/// Runs in the child. Returns the errno if the program cannot be executed.
int becomeChild(const ProcessGroup::Child &child, const Prepared &prepared, pid_t parent, pid_t group, int report) {
  setpgid(0, group);
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent)
    _exit(127); // The parent ended before the prctl above.
  // exec resets handlers, but not ignored or blocked signals. SIGTTOU stays ignored: the group is not the terminal's
  // foreground group.
  for (int number = 1; number != NSIG; ++number)
    ::signal(number, number == SIGTTOU ? SIG_IGN : SIG_DFL);
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  int null = open("/dev/null", O_RDONLY | O_CLOEXEC);
  if (null < 0 || dup2(null, 0) < 0)
    return errno;
  if (child.standardOutput >= 0 && dup2(child.standardOutput, 1) < 0)
    return errno;
  if (child.standardError >= 0 && dup2(child.standardError, 2) < 0)
    return errno;
  syscall(SYS_close_range, 3u, ~0u, 4u /* CLOSE_RANGE_CLOEXEC */);
  for (int fd : child.inherit)
    fcntl(fd, F_SETFD, 0);
  fcntl(report, F_SETFD, FD_CLOEXEC);
  int error = ENOENT;
  for (const std::string &candidate : prepared.candidates) {
    execve(candidate.c_str(), prepared.arguments.data(), prepared.environment.data());
    if (errno != ENOENT && errno != ENOTDIR)
      error = errno;
  }
  return error;
}

} // namespace

pid_t ProcessGroup::start(const Child &child) {
  Prepared prepared;
  prepared.arguments = pointers(child.command);
  prepared.environment = pointers(child.environment);
  prepared.candidates = findProgram(child.command.front(), child.environment);
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0)
    throw systemError("cannot create a pipe");
  UniqueFd reading(ends[0]), writing(ends[1]);
  pid_t parent = getpid();
  pid_t pid = fork();
  if (pid < 0)
    throw systemError("cannot start a process");
  if (pid == 0) {
    int error = becomeChild(child, prepared, parent, guard, writing.get());
    (void)!write(writing.get(), &error, sizeof error);
    _exit(127);
  }
  setpgid(pid, guard);
  writing.reset();
  int error = 0;
  ssize_t size;
  while ((size = read(reading.get(), &error, sizeof error)) < 0 && errno == EINTR)
    ;
  if (size == 0)
    return pid; // A successful exec has closed the pipe.
  while (waitpid(pid, nullptr, 0) < 0 && errno == EINTR)
    ;
  errno = error;
  throw systemError("cannot start `" + child.command.front() + "`");
}

} // namespace spmd::coordinator
