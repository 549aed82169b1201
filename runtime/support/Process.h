//===- Process.h - facts about this process and its machine -----*- C++ -*-===//
#pragma once

#include <string>

namespace spmd {

/// The name of this machine, for messages only: no connection uses it.
std::string hostName();

/// Identifies one boot of one machine; "" if the system does not provide it.
std::string bootId();

/// Equal on processes that can reach one another within the machine: identifies its boot and its network namespace.
std::string machineId();

/// The cores that this process may run on (its affinity mask); at least 1.
int availableCores();

/// `SIGKILL` for 9; `signal 99` for one without a name.
std::string signalName(int signal);

/// Returns the system's text for an error. If file descriptors are exhausted, it adds their limit and the remedy.
std::string systemErrorText(int code);

/// Owns a file descriptor and closes it.
class UniqueFd {
public:
  UniqueFd() = default;
  explicit UniqueFd(int fd) : fd(fd) {}
  UniqueFd(UniqueFd &&other) noexcept : fd(other.release()) {}
  UniqueFd &operator=(UniqueFd &&other) noexcept;
  ~UniqueFd() { reset(); }

  int get() const { return fd; }
  explicit operator bool() const { return fd >= 0; }
  int release() {
    int result = fd;
    fd = -1;
    return result;
  }
  void reset();

private:
  int fd = -1;
};

} // namespace spmd
