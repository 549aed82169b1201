//===- StopRequest.h - that a loop is to save and end -----------*- C++ -*-===//
#pragma once

#include <atomic>

namespace spmd {

/// What SIGTERM asks of a loop of steps with checkpoints: to save what it has, and then to end. Made on a thread of
/// signals, and looked at between steps.
class StopRequest {
public:
  /// Whether the loop looks from here on.
  void heed(bool heeds) { isHeeded = heeds; }
  /// False where nobody looks, or it was made before (who sends it twice is in a hurry): the process is to end at once.
  bool make() { return isHeeded && !isMade.exchange(true); }
  bool wasMade() const { return isMade; }

private:
  std::atomic<bool> isHeeded{false}, isMade{false};
};

} // namespace spmd
