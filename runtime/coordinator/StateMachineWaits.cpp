// The coordinator: waits of members for one another that are in vain.

#include "runtime/coordinator/Describe.h"
#include "runtime/coordinator/StateMachine.h"

#include <algorithm>

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

/// Reports processes that wait for one another, each with the only thread that could end the wait of another. A process
/// at a barrier waits for all others; one that waits for a key of the store waits for the process that sets it.
/// (Barriers find two processes at two barriers themselves.) `process` is the one that has begun to wait.
void StateMachine::endDeadlock(int32_t process, TimePoint now) {
  if (isEnded())
    return;
  std::vector<int32_t> waiting;
  if (barriers.findOnlyWait(process)) {
    for (int32_t other : store.findProcessesAtWait())
      if (store.findOnlyWait(other)->setter == process)
        waiting = {other, process};
  } else {
    for (int32_t next = process;;) {
      const KeyValueStore::Wait *wait = store.findOnlyWait(next);
      if (!wait && !barriers.findOnlyWait(next))
        return; // It can still end the waits of the others.
      if (auto found = std::find(waiting.begin(), waiting.end(), next); found != waiting.end()) {
        waiting.erase(waiting.begin(), found); // Those before the cycle wait for it.
        break;
      }
      waiting.push_back(next);
      if (!wait)
        break;
      next = wait->setter;
    }
  }
  if (waiting.size() < 2)
    return;
  std::sort(waiting.begin(), waiting.end());
  Fail report;
  report.culprit = -1;
  for (int32_t member : waiting) {
    const KeyValueStore::Wait *wait = store.findOnlyWait(member);
    report.text += (report.text.empty() ? "processes wait for one another: " : "; ") + describe(member) +
                   (!wait ? " waits at barrier `" + *barriers.findOnlyWait(member) + "`"
                          : " waits for process " + std::to_string(wait->setter) + " in " +
                                (wait->call.empty() ? "a wait for key `" + wait->key + "`" : wait->call));
  }
  report.text += std::string(": ") + orderAdvice;
  addCandidate(waiting.front(), &report, now);
}

} // namespace spmd::coordinator
