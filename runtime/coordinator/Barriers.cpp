#include "runtime/coordinator/Barriers.h"

#include <algorithm>

namespace spmd::coordinator {

std::string Barriers::listAbsent(const OpenBarrier &barrier) const {
  constexpr int32_t maxListed = 16;
  std::string text;
  int32_t count = 0;
  for (int32_t process = 0; process != numProcesses; ++process) {
    if (barrier.present.count(process))
      continue;
    if (count < maxListed)
      text += (text.empty() ? "" : ", ") + describe(process);
    ++count;
  }
  if (count > maxListed)
    text += " and " + std::to_string(count - maxListed) + " more";
  return text;
}

void Barriers::fail(std::map<std::string, OpenBarrier>::iterator barrier, const std::string &why,
                    std::vector<Answer> &answers) {
  for (auto [process, request] : barrier->second.present) {
    answers.push_back({{process, request}, false, why});
    bound.erase(process);
  }
  failed[barrier->first] = why;
  failedOrder.push_back(barrier->first);
  if (failedOrder.size() > maxNames) {
    failed.erase(failedOrder.front());
    failedOrder.pop_front();
  }
  open.erase(barrier);
}

/// Ends two barriers that wait for one another: `process` waits at `name` and never comes to the barrier where another
/// process waits, and that one never comes to `name`.
void Barriers::endDeadlocked(int32_t process, const std::string &name, std::vector<Answer> &answers) {
  auto other = std::find_if(bound.begin(), bound.end(), [&](const auto &entry) { return entry.second != name; });
  if (other == bound.end())
    return;
  std::string where = other->second;
  std::string why = "barriers `" + where + "` and `" + name + "` cannot be reached: " + describe(other->first) +
                    " waits at the first, " + describe(process) +
                    " at the second: all processes must reach the same barriers in the same order";
  fail(open.find(where), why, answers);
  fail(open.find(name), why, answers);
}

void Barriers::arrive(Requester from, const std::string &name, bool isOnlyThread, TimePoint deadline,
                      std::vector<Answer> &answers, TimePoint now) {
  auto refuse = [&](const std::string &why) { answers.push_back({from, false, why}); };
  if (!isOnlyThread) // Another thread of the waiting process can still come to other barriers.
    bound.erase(from.process);
  if (auto found = failed.find(name); found != failed.end())
    return refuse(found->second);
  if (!gone.empty())
    return refuse("barrier `" + name + "` cannot be reached: " + describe(gone.front()) + " has left the job");
  auto barrier = open.find(name);
  if (barrier == open.end()) {
    if (open.size() >= maxNames)
      return refuse("barrier `" + name + "`: too many barriers are open at once");
    barrier = open.emplace(name, OpenBarrier{{}, now, never}).first;
  }
  if (!barrier->second.present.emplace(from.process, from.request).second)
    return refuse("barrier `" + name + "`: another thread of this process already waits there");
  barrier->second.deadline = std::min(barrier->second.deadline, deadline);
  if (isOnlyThread)
    bound[from.process] = name;
  if (barrier->second.present.size() != static_cast<size_t>(numProcesses)) {
    if (isOnlyThread)
      endDeadlocked(from.process, name, answers);
    return;
  }
  for (auto [process, request] : barrier->second.present) {
    answers.push_back({{process, request}, true, ""});
    bound.erase(process);
  }
  open.erase(barrier);
}

void Barriers::leave(int32_t process, std::vector<Answer> &answers) {
  gone.push_back(process);
  while (!open.empty())
    fail(open.begin(),
         "barrier `" + open.begin()->first + "` cannot be reached: " + describe(process) + " has left the job",
         answers);
}

void Barriers::expire(TimePoint now, std::vector<Answer> &answers) {
  for (auto it = open.begin(); it != open.end();) {
    auto barrier = it++;
    if (barrier->second.deadline <= now)
      fail(barrier,
           "barrier `" + barrier->first + "` was not reached within " +
               std::to_string(millisecondsBetween(barrier->second.begin, barrier->second.deadline)) + " ms by " +
               listAbsent(barrier->second),
           answers);
  }
}

const std::string *Barriers::findOnlyWait(int32_t process) const {
  auto found = bound.find(process);
  return found == bound.end() ? nullptr : &found->second;
}

bool Barriers::isAt(int32_t process, const std::string &name) const {
  auto barrier = open.find(name);
  return barrier != open.end() && barrier->second.present.count(process);
}

bool Barriers::isOnlyWait(Requester from) const {
  const std::string *name = findOnlyWait(from.process);
  return name && open.at(*name).present.at(from.process) == from.request;
}

TimePoint Barriers::nextDeadline() const {
  TimePoint next = never;
  for (const auto &[name, barrier] : open)
    next = std::min(next, barrier.deadline);
  return next;
}

} // namespace spmd::coordinator
