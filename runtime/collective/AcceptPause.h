//===- AcceptPause.h - accepting where no descriptor is free ----*- C++ -*-===//
#pragma once

#include <cerrno>
#include <chrono>

namespace spmd {

/// For a loop that polls a listening socket: while no descriptor is free, a connection waits there that nobody can
/// take, and polling the socket would end at once, again and again. Not thread-safe.
class AcceptPause {
public:
  /// How long descriptors may be lacking before that is an error: others may be closing theirs.
  static constexpr std::chrono::milliseconds limit{2000};

  /// After accept() has failed. Whether that was for want of descriptors, and the socket is to be left alone for a
  /// while.
  bool begin(int error) {
    if (error != EMFILE && error != ENFILE && error != ENOBUFS && error != ENOMEM)
      return false;
    auto now = std::chrono::steady_clock::now();
    if (!isLacking) {
      isLacking = true;
      lackingSince = now;
    }
    until = now + interval;
    return true;
  }
  /// After accept() has succeeded.
  void end() { isLacking = false; }

  /// Whether to leave the socket alone now; to be asked before each poll().
  bool isOn() const { return isLacking && std::chrono::steady_clock::now() < until; }
  /// How long a poll() may take then, in milliseconds.
  static int pollLimit() { return static_cast<int>(interval.count()); }

  /// True once, where descriptors are lacking for longer than the limit.
  bool isTooLong() {
    if (!isLacking || isTold || std::chrono::steady_clock::now() - lackingSince < limit)
      return false;
    return isTold = true;
  }

private:
  static constexpr std::chrono::milliseconds interval{50};

  bool isLacking = false, isTold = false;
  std::chrono::steady_clock::time_point lackingSince, until;
};

} // namespace spmd
