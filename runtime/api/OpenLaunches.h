//===- OpenLaunches.h - what a job has begun and not waited for -*- C++ -*-===//
#pragma once

#include "runtime/exec/Executor.h"
#include "runtime/support/Error.h"

#include <deque>
#include <memory>
#include <mutex>
#include <optional>

namespace spmd {

/// The launches of a process that may be under way. A program without results has no array that could be waited for, so
/// the job remembers its launches, and those of results that were dropped: none is lost with the end of the process,
/// and an error in any is an error of the job. Safe from any thread.
class OpenLaunches {
public:
  void add(std::shared_ptr<Launch> launch);

  /// Returns when all launches are over that were added before; throws the first error that one of them had since the
  /// last time.
  void wait();

private:
  /// Waits for it, and keeps its error.
  void finish(Launch &launch);

  std::mutex mutex;
  std::deque<std::shared_ptr<Launch>> launches; ///< In the order of the calls.
  std::optional<Error> failure;
};

} // namespace spmd
