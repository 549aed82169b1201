//===- Verdict.h - why a job ended ------------------------------*- C++ -*-===//
//
// A job ends with one verdict. The coordinator decides it, and all processes print the same sentence.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/support/Error.h"

#include <cstdint>
#include <string>

namespace spmd {

/// The position of a process, from its last heartbeat.
struct Position {
  enum class State : uint8_t {
    Joining, ///< Has not run anything yet.
    Running, ///< In a launch.
    Idle,    ///< Between two launches: `step` is the last one's.
    Waiting, ///< In a barrier or in Store::wait; `location` has its name.
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

/// The cause of a job's end, and the process that caused it.
struct Verdict {
  enum class Cause : uint8_t {
    Lost,   ///< Its connection closed without goodbye.
    Killed, ///< The launcher reports: killed by the signal `detail`.
    Exited, ///< The launcher reports: exited with status `detail`, without goodbye.
    Hung,   ///< No heartbeat for `detail` milliseconds.
    /// Alive, but for `detail` milliseconds behind the others at the same step; 0: `text` names the process that
    /// waited.
    Stuck,
    Failed,      ///< It reported an error: `text`.
    Mismatch,    ///< Its program or options differ from those of the others: `text`.
    Missing,     ///< Processes did not join within `initialization_timeout`: `text`.
    Interrupted, ///< It was asked to end, by the signal `detail`; `text` says what the job did then.
  };

  int32_t culprit = -1; ///< -1: no single process is the culprit.
  std::string host;     ///< "": the culprit never said hello.
  int64_t pid = 0;
  Cause cause = Cause::Lost;
  int64_t detail = 0;
  std::string text;
  Position position; ///< The last known position of the culprit.

  bool operator==(const Verdict &) const = default;
  /// Returns the one sentence that every process prints.
  std::string str() const;
};

/// The exception that a job is over; it carries the verdict.
class VerdictError : public Error {
public:
  explicit VerdictError(Verdict verdict) : Error(verdict.str(), Kind::Verdict), verdict(std::move(verdict)) {}
  const Verdict &getVerdict() const { return verdict; }

private:
  Verdict verdict;
};

/// Returns `process 2 (node1, pid 4711)`; without host and pid if they are not known.
std::string describeProcess(int32_t process, const std::string &host, int64_t pid);

} // namespace spmd
