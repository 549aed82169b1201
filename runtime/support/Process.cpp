#include "runtime/support/Process.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <thread>

#include <sched.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

namespace spmd {

std::string hostName() {
  char name[256] = {};
  if (gethostname(name, sizeof name - 1) != 0 || name[0] == 0)
    return "localhost";
  return name;
}

std::string bootId() {
  std::ifstream file("/proc/sys/kernel/random/boot_id");
  std::string id;
  file >> id;
  return id;
}

std::string machineId() {
  struct stat space = {};
  if (::stat("/proc/self/ns/net", &space) != 0)
    return bootId();
  return bootId() + "." + std::to_string(space.st_ino);
}

int availableCores() {
  cpu_set_t set;
  CPU_ZERO(&set);
  if (sched_getaffinity(0, sizeof set, &set) == 0)
    return std::max(1, CPU_COUNT(&set));
  return std::max(1, static_cast<int>(std::thread::hardware_concurrency())); // More cores than a cpu_set_t names.
}

std::string signalName(int signal) {
  const char *name = sigabbrev_np(signal);
  return name ? std::string("SIG") + name : "signal " + std::to_string(signal);
}

UniqueFd &UniqueFd::operator=(UniqueFd &&other) noexcept {
  if (this != &other) {
    reset();
    fd = other.release();
  }
  return *this;
}

std::string systemErrorText(int code) {
  std::string text = std::strerror(code);
  rlimit limit{};
  if (code == EMFILE && getrlimit(RLIMIT_NOFILE, &limit) == 0)
    text += ": this process may have " + std::to_string(limit.rlim_cur) + " at a time; raise `ulimit -n`";
  return text;
}

void UniqueFd::reset() {
  if (fd >= 0)
    ::close(fd);
  fd = -1;
}

} // namespace spmd
