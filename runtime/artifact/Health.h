//===- Health.h - whether the job is over -----------------------*- C++ -*-===//
#pragma once

#include "runtime/artifact/Plan.h"

#include <cstdint>
#include <functional>
#include <string>

namespace spmd {

/// A call in which a device of another process waits for this process.
struct AwaitedCall {
  int32_t process = 0; ///< The process that waits.
  std::string text;    ///< The call with its source location.
  bool operator==(const AwaitedCall &) const = default;
};

/// The executor's and the collectives' view of the control plane. The coordinator's client implements it; jobs of one
/// process use a trivial implementation. Thread-safe, lock-free on the fast path.
class Health {
public:
  virtual ~Health() = default;

  /// Records which step this process executes; each heartbeat sends it. `location` must stay alive until the next call.
  virtual void atStep(uint64_t launch, int32_t step, const SourceLocation &location) = 0;

  /// Called when a launch is queued, and when all devices of this process have ended it: a process without launches
  /// does not stand still.
  virtual void onLaunch() {}
  virtual void onLaunchEnd() {}

  /// True once the job has a verdict (or the process was told to stop). Waiting loops poll it at least each 20 ms.
  virtual bool isOver() const = 0;

  /// Whether this process has left the job in order: all its launches have ended, and it begins no more.
  virtual bool hasLeft(int32_t /*process*/) const { return false; }

  /// Throws the verdict as spmd::Error. Waits up to 0.5 s for the coordinator's decision, so that all processes print
  /// the same.
  [[noreturn]] virtual void throwVerdict() = 0;

  /// Tells the coordinator that this process has failed; its message becomes the root cause on all processes.
  virtual void reportFailure(const std::string &message) = 0;
  /// Like reportFailure, for a step that need not be the current one.
  virtual void reportFailureAt(const std::string &message, uint64_t launch, int32_t step,
                               const SourceLocation &location) {
    atStep(launch, step, location);
    reportFailure(message);
  }
  /// Reports that this process has waited for `process` until the time limit, and that `process` is to blame.
  virtual void reportMissing(int32_t /*process*/, const std::string &message) { reportFailure(message); }
};

} // namespace spmd
