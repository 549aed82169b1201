//===- StopRequest.h - asks a loop of steps to save and end -----*- C++ -*-===//
#pragma once

#include <atomic>

namespace spmd {

/// The request of SIGTERM to a loop of steps with checkpoints: to save its state, and then to end. The thread of
/// signals makes the request; the loop checks it between steps.
class StopRequest {
public:
  /// Sets whether the loop obeys requests from here on.
  void heed(bool heeds) { isHeeded = heeds; }
  /// Makes the request. Returns false if the loop does not obey it, or if it was made before (a second signal means "at
  /// once"): then the process must end at once.
  bool make() { return isHeeded && !isMade.exchange(true); }
  bool wasMade() const { return isMade; }

private:
  std::atomic<bool> isHeeded{false}, isMade{false};
};

} // namespace spmd
