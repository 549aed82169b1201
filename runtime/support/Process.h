//===- Process.h - facts about this process and its machine -----*- C++ -*-===//
#pragma once

#include <string>

namespace spmd {

/// The name of this machine, for messages only: nothing is ever connected to by it.
std::string hostName();

/// Identifies one boot of one machine (and changes with the next boot); "" where the system does not tell.
std::string bootId();

/// Equal on processes that can reach one another within the machine: its boot and its network namespace.
std::string machineId();

/// `SIGKILL` for 9; `signal 99` for one without a name.
std::string signalName(int signal);

/// What the system says of an error; where no file descriptor is free, with how many there may be and the remedy.
std::string systemErrorText(int code);

/// A file descriptor that is closed when its owner goes.
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
