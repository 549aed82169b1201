//===- Health.h - how a waiting thread learns that the job is over ----*- C++ -*-===//
#pragma once

#include "runtime/artifact/Plan.h"

#include <cstdint>
#include <functional>
#include <string>

namespace spmd {

/// The executor's and the collectives' view of the control plane. Implemented by the coordinator's client, and by a
/// trivial one where a job has a single process. Thread-safe, lock-free on the fast path.
class Health {
public:
  virtual ~Health() = default;

  /// Where this process is: sent with each heartbeat. `location` must stay alive until the next call.
  virtual void atStep(uint64_t launch, int32_t step, const SourceLocation &location) = 0;

  /// True once the job has a verdict (or the process was told to stop). Waiting loops poll it at least each 20 ms.
  virtual bool isOver() const = 0;

  /// Throws the verdict as spmd::Error; waits up to 0.5 s for the coordinator's decision so that all print the same.
  [[noreturn]] virtual void throwVerdict() = 0;

  /// Tells the coordinator that this process has failed; its message becomes the root cause on all processes.
  virtual void reportFailure(const std::string &message) = 0;
  /// The same, of a step that need not be the one that the process has come to.
  virtual void reportFailureAt(const std::string &message, uint64_t launch, int32_t step,
                               const SourceLocation &location) {
    atStep(launch, step, location);
    reportFailure(message);
  }
  /// This process has waited for that one for as long as it may, says `message`: that one is to blame.
  virtual void reportMissing(int32_t /*process*/, const std::string &message) { reportFailure(message); }
};

} // namespace spmd
