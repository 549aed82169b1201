//===- AcceptPause.h - accept() without free descriptors --------*- C++ -*-===//
#pragma once

#include <cerrno>
#include <chrono>

namespace spmd {

/// Pauses a loop that polls a listening socket while the process has no free descriptor. Without the pause a waiting
/// connection that cannot be accepted would end each poll() at once. Not thread-safe.
class AcceptPause {
public:
  /// How long descriptors may be exhausted before that is an error: other threads may be about to close theirs.
  static constexpr std::chrono::milliseconds limit{2000};

  /// Call it after accept() has failed. Returns true if no descriptor was free, and the loop must not poll the socket
  /// for a while.
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
  /// Call it after accept() has succeeded.
  void end() { isLacking = false; }

  /// Whether the loop must not poll the socket now; ask before each poll().
  bool isOn() const { return isLacking && std::chrono::steady_clock::now() < until; }
  /// The longest poll() during a pause, in milliseconds.
  static int pollLimit() { return static_cast<int>(interval.count()); }

  /// Returns true once, if descriptors are exhausted for longer than `limit`.
  bool isTooLong() {
    if (!isLacking || isReported || std::chrono::steady_clock::now() - lackingSince < limit)
      return false;
    return isReported = true;
  }

private:
  static constexpr std::chrono::milliseconds interval{50};

  bool isLacking = false, isReported = false;
  std::chrono::steady_clock::time_point lackingSince, until;
};

} // namespace spmd
