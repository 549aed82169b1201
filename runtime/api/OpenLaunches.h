//===- OpenLaunches.h - launches without a waiting caller -------*- C++ -*-===//
#pragma once

#include "runtime/exec/Executor.h"
#include "runtime/support/Error.h"

#include <deque>
#include <memory>
#include <mutex>
#include <optional>

namespace spmd {

/// The launches of a process that may still run. The caller cannot wait for a program without results, or for results
/// that it dropped; the job keeps these launches, so that the end of the process does not lose them, and an error in
/// one is an error of the job. Thread-safe.
class OpenLaunches {
public:
  void add(std::shared_ptr<Launch> launch);

  /// Waits until all launches are over that were added before; throws the first error since the last call.
  void wait();

private:
  /// Waits for the launch, and keeps its error.
  void finish(Launch &launch);

  std::mutex mutex;
  std::deque<std::shared_ptr<Launch>> launches; ///< In the order of the calls.
  std::optional<Error> failure;
};

} // namespace spmd
