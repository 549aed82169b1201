//===- Verdict.h - why a job ended --------------------------*- C++ -*-===//
//
// One verdict ends a job. The coordinator decides it, every process prints it, and all print the same.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/support/Error.h"

#include <cstdint>
#include <string>

namespace spmd {

/// Where a process is, as its last heartbeat told.
struct Position {
  enum class State : uint8_t {
    Joining, ///< Has not run anything yet.
    Running, ///< In a launch, or between two.
    Waiting, ///< In a barrier or in Store::wait; `location` names it.
    Leaving, ///< Has said goodbye.
  };
  uint64_t launch = 0;
  int32_t step = -1; ///< -1: no step yet.
  State state = State::Joining;
  std::string location; ///< `mlp.spmd:5:7`, or "".

  bool operator==(const Position &) const = default;
  /// `launch 5, step 3 (mlp.spmd:5:7)`, or `before its first step`.
  std::string str() const;
};

/// Why the job is over, and through whom.
struct Verdict {
  enum class Cause : uint8_t {
    Lost,     ///< Its connection went without goodbye.
    Killed,   ///< Its launcher says: by `detail` (a signal).
    Exited,   ///< Its launcher says: with exit status `detail`, without goodbye.
    Hung,     ///< No heartbeat for `detail` milliseconds.
    Stuck,    ///< Alive, but for `detail` milliseconds behind the others at the same step; 0: `text` says who waited.
    Failed,   ///< It reported an error: `text`.
    Mismatch, ///< It was started with something else than the others: `text`.
    Missing,  ///< Processes did not come within `initialization_timeout`: `text`.
    Interrupted, ///< It was asked to end, by signal `detail`; `text` is what was done then.
  };

  int32_t culprit = -1; ///< -1 where no single process is to blame.
  std::string host;     ///< "" where the culprit never said hello.
  int64_t pid = 0;
  Cause cause = Cause::Lost;
  int64_t detail = 0;
  std::string text;
  Position position; ///< Where the culprit was last.

  bool operator==(const Verdict &) const = default;
  /// The one sentence that every process prints.
  std::string str() const;
};

/// The job is over, as an exception; it carries what the sentence was made of.
class VerdictError : public Error {
public:
  explicit VerdictError(Verdict verdict) : Error(verdict.str(), Kind::Verdict), verdict(std::move(verdict)) {}
  const Verdict &getVerdict() const { return verdict; }

private:
  Verdict verdict;
};

/// `process 2 (node1, pid 4711)`; without host and pid where they are not known.
std::string describeProcess(int32_t process, const std::string &host, int64_t pid);

} // namespace spmd
