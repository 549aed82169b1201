//===- Barriers.h - the coordinator's side of Client::barrier ---*- C++ -*-===//
//
// Barriers have names, and all processes take part in each. The first time limit that passes ends a barrier for all
// processes that wait at it, with a list of the absent ones; a process that comes later gets the same error at once. If
// two processes wait at two barriers, each with the only thread that could come to the other barrier, both barriers end
// at once. The class does no I/O: callers pass the time in, and answers come out.
//
// ===----------------------------------------------------------------------===//
#pragma once

#include "runtime/coordinator/Clock.h"
#include "runtime/coordinator/KeyValueStore.h"

#include <deque>
#include <functional>
#include <map>
#include <string>
#include <vector>

namespace spmd::coordinator {

class Barriers {
public:
  /// The largest number of open barriers, and of failed ones whose error is remembered. It bounds the memory that a
  /// process can make the coordinator use.
  static constexpr size_t maxNames = 10'000;

  /// `describe` returns a process with its host and pid, for messages.
  Barriers(int32_t numProcesses, std::function<std::string(int32_t)> describe)
      : numProcesses(numProcesses), describe(std::move(describe)) {}

  /// `isOnlyThread`: as in BarrierRequest.
  void arrive(Requester from, const std::string &name, bool isOnlyThread, TimePoint deadline,
              std::vector<Answer> &answers, TimePoint now);
  /// `process` has left: it comes to no barrier any more.
  void leave(int32_t process, std::vector<Answer> &answers);
  void expire(TimePoint now, std::vector<Answer> &answers);
  TimePoint nextDeadline() const;
  /// Returns the barrier at which a process waits with its only thread, or null.
  const std::string *findOnlyWait(int32_t process) const;
  bool isAt(int32_t process, const std::string &name) const;
  /// Whether a process waits for the answer to this request with its only thread.
  bool isOnlyWait(Requester from) const;

private:
  struct OpenBarrier {
    std::map<int32_t, uint64_t> present; ///< Request by process.
    TimePoint begin, deadline = never;
  };

  void fail(std::map<std::string, OpenBarrier>::iterator meeting, const std::string &why, std::vector<Answer> &answers);
  std::string listAbsent(const OpenBarrier &meeting) const;
  void endDeadlocked(int32_t process, const std::string &name, std::vector<Answer> &answers);

  int32_t numProcesses;
  std::function<std::string(int32_t)> describe;
  std::map<std::string, OpenBarrier> open;
  std::map<std::string, std::string> failed; ///< The error that each failed barrier ended with, by name.
  std::deque<std::string> failedOrder;       ///< In order of failure; the oldest is forgotten first.
  std::vector<int32_t> gone;
  /// The barrier that each process waits at with its only thread; it comes to no other one meanwhile.
  std::map<int32_t, std::string> bound;
};

} // namespace spmd::coordinator
