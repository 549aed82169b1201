//===- Barriers.h - the coordinator's side of Client::barrier ---*- C++ -*-===//
//
// Named meetings of all processes. The first time limit that passes ends a meeting for everybody who waits in it, with
// a list of those absent; who comes after that is told the same at once. Two processes that wait at two barriers, each
// with the only thread that could come to the other, wait in vain: both barriers end at once. Pure: time is passed in,
// answers come out.
//
//===----------------------------------------------------------------------===//
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
  /// How many names may be open, and how many failed ones are remembered.
  static constexpr size_t maxNames = 10'000;

  /// `describe` names a process with its host and pid.
  Barriers(int32_t numProcesses, std::function<std::string(int32_t)> describe)
      : numProcesses(numProcesses), describe(std::move(describe)) {}

  /// `isOnlyThread`: as in BarrierRequest.
  void arrive(Requester from, const std::string &name, bool isOnlyThread, TimePoint deadline,
              std::vector<Answer> &answers, TimePoint now);
  /// The process will not come to any barrier any more.
  void leave(int32_t process, std::vector<Answer> &answers);
  void expire(TimePoint now, std::vector<Answer> &answers);
  TimePoint nextDeadline() const;

private:
  struct Meeting {
    std::map<int32_t, uint64_t> present; ///< Request by process.
    TimePoint begin, deadline = never;
  };

  void fail(std::map<std::string, Meeting>::iterator meeting, const std::string &why, std::vector<Answer> &answers);
  std::string listAbsent(const Meeting &meeting) const;
  void endHopeless(int32_t process, const std::string &name, std::vector<Answer> &answers);

  int32_t numProcesses;
  std::function<std::string(int32_t)> describe;
  std::map<std::string, Meeting> open;
  std::map<std::string, std::string> failed; ///< What was said, by name.
  std::deque<std::string> failedOrder;       ///< The oldest is forgotten first.
  std::vector<int32_t> gone;
  std::map<int32_t, std::string> bound; ///< Where processes wait that come to no other barrier meanwhile.
};

} // namespace spmd::coordinator
