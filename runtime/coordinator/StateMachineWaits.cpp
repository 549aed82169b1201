// The coordinator: waits of members for one another that are in vain.

#include "runtime/coordinator/Describe.h"
#include "runtime/coordinator/StateMachine.h"

#include <algorithm>
#include <deque>
#include <map>
#include <utility>

namespace spmd::coordinator {

constexpr const char *orderAdvice = "all processes must make the same calls in the same order";

/// A wait for an operation of the program ends the job, with the awaited process as the cause; others end with an
/// error.
void StateMachine::endExpiredWaits(TimePoint now) {
  std::vector<Answer> answers;
  for (const KeyValueStore::Wait &wait : store.takeExpired(now)) {
    int64_t waited = millisecondsBetween(wait.begin, wait.deadline);
    if (wait.call.empty() || wait.setter == wait.from.process) {
      answers.push_back(
          {wait.from, false,
           "no process has set key `" + wait.key + "` of the job's store within " + std::to_string(waited) + " ms"});
      continue;
    }
    Fail complaint;
    complaint.text = describe(wait.from.process) + " has waited " + formatSeconds(waited) + " for it in " + wait.call;
    addCandidate(wait.from.process, &complaint, now, wait.setter);
  }
  deliver(answers);
}

/// Ends the waits for keys that a process has not set before it left.
void StateMachine::endWaitsFor(int32_t leaving, TimePoint now) {
  std::vector<Answer> answers;
  for (const KeyValueStore::Wait &wait : store.takeWaitsFor(leaving)) {
    if (wait.call.empty()) {
      answers.push_back(
          {wait.from, false,
           describe(leaving) + " has left the job without setting key `" + wait.key + "` of the job's store"});
      continue;
    }
    Fail report;
    report.text = "it has left the job, and " + describe(wait.from.process) + " waits for it in " + wait.call + ": " +
                  orderAdvice;
    report.position = members.at(leaving).position;
    addCandidate(leaving, &report, now);
  }
  deliver(answers);
}

void StateMachine::onDelays(int32_t process, Delays delays, TimePoint now) {
  int32_t waiting = delays.process;
  delayed[waiting] = {process, std::move(delays)};
  endDeadlock(process, now);
}

/// Returns the waits of a process that end only with another one's call: those of its only thread, for a key of the
/// store or at a barrier, and that of a launch, whose partner does nothing meanwhile but wait. At a barrier it waits
/// for all that are not there; returned are those that wait themselves. (Barriers find two processes at two barriers.)
std::vector<StateMachine::MutualWait> StateMachine::waitsOf(int32_t process) const {
  std::vector<MutualWait> waits;
  auto isOnlyWait = [&](Requester from) {
    const KeyValueStore::Wait *wait = store.findOnlyWait(from.process);
    return (wait && wait->from.request == from.request) || barriers.isOnlyWait(from);
  };
  auto waitsFor = [&](int32_t awaited, const std::string &call) {
    waits.push_back({process, awaited, " waits for process " + std::to_string(awaited) + " in " + call});
  };
  if (const KeyValueStore::Wait *wait = store.findOnlyWait(process))
    waitsFor(wait->setter, wait->call.empty() ? "a wait for key `" + wait->key + "`" : wait->call);
  if (const std::string *name = barriers.findOnlyWait(process)) {
    auto addAbsent = [&](int32_t other) {
      if (other != process && !barriers.isAt(other, *name))
        waits.push_back({process, other, " waits at barrier `" + *name + "`"});
    };
    for (int32_t other : store.findProcessesAtWait())
      addAbsent(other);
    for (const auto &[other, report] : delayed)
      addAbsent(other);
  }
  if (auto report = delayed.find(process); report != delayed.end()) {
    const auto &[partner, delays] = report->second;
    if (isOnlyWait({partner, delays.request}))
      waitsFor(partner, delays.call);
  }
  return waits;
}

/// Returns processes that wait for one another, beginning with `process`; empty: there are none.
std::vector<StateMachine::MutualWait> StateMachine::findCircle(int32_t process) const {
  std::map<int32_t, MutualWait> reachedBy; // By awaited process.
  std::deque<int32_t> open{process};
  for (; !open.empty() && !reachedBy.count(process); open.pop_front())
    for (MutualWait &wait : waitsOf(open.front()))
      if (int32_t awaited = wait.awaited; reachedBy.emplace(awaited, std::move(wait)).second)
        open.push_back(awaited);
  std::vector<MutualWait> circle;
  if (reachedBy.count(process))
    for (int32_t awaited = process; circle.empty() || awaited != process; awaited = circle.back().process)
      circle.push_back(reachedBy.at(awaited));
  return circle;
}

/// Reports processes that wait for one another in vain. `process` has begun a wait, or reported one.
void StateMachine::endDeadlock(int32_t process, TimePoint now) {
  if (isEnded())
    return;
  std::vector<MutualWait> circle = findCircle(process);
  if (circle.empty())
    return;
  std::sort(circle.begin(), circle.end(),
            [](const MutualWait &left, const MutualWait &right) { return left.process < right.process; });
  Fail report;
  report.culprit = -1;
  for (const MutualWait &wait : circle)
    report.text +=
        (report.text.empty() ? "processes wait for one another: " : "; ") + describe(wait.process) + wait.text;
  report.text += std::string(": ") + orderAdvice;
  addCandidate(circle.front().process, &report, now);
}

} // namespace spmd::coordinator
