#include "runtime/coordinator/Barriers.h"

#include <algorithm>

namespace spmd::coordinator {

std::string Barriers::listAbsent(const Meeting &meeting) const {
  constexpr int32_t maxListed = 16;
  std::string text;
  int32_t count = 0;
  for (int32_t process = 0; process != numProcesses; ++process) {
    if (meeting.present.count(process))
      continue;
    if (count < maxListed)
      text += (text.empty() ? "" : ", ") + describe(process);
    ++count;
  }
  if (count > maxListed)
    text += " and " + std::to_string(count - maxListed) + " more";
  return text;
}

void Barriers::fail(std::map<std::string, Meeting>::iterator meeting, const std::string &why,
                    std::vector<Answer> &answers) {
  for (auto [process, request] : meeting->second.present) {
    answers.push_back({{process, request}, false, why});
    bound.erase(process);
  }
  failed[meeting->first] = why;
  failedOrder.push_back(meeting->first);
  if (failedOrder.size() > maxNames) {
    failed.erase(failedOrder.front());
    failedOrder.pop_front();
  }
  open.erase(meeting);
}

/// Ends two barriers that wait for one another: `process` waits at `name` and never comes to the barrier where another
/// process waits, and that one never comes to `name`.
void Barriers::endHopeless(int32_t process, const std::string &name, std::vector<Answer> &answers) {
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
  auto meeting = open.find(name);
  if (meeting == open.end()) {
    if (open.size() >= maxNames)
      return refuse("barrier `" + name + "`: too many barriers are open at once");
    meeting = open.emplace(name, Meeting{{}, now, never}).first;
  }
  if (!meeting->second.present.emplace(from.process, from.request).second)
    return refuse("barrier `" + name + "`: another thread of this process already waits there");
  meeting->second.deadline = std::min(meeting->second.deadline, deadline);
  if (isOnlyThread)
    bound[from.process] = name;
  if (meeting->second.present.size() != static_cast<size_t>(numProcesses)) {
    if (isOnlyThread)
      endHopeless(from.process, name, answers);
    return;
  }
  for (auto [process, request] : meeting->second.present) {
    answers.push_back({{process, request}, true, ""});
    bound.erase(process);
  }
  open.erase(meeting);
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
    auto meeting = it++;
    if (meeting->second.deadline <= now)
      fail(meeting,
           "barrier `" + meeting->first + "` was not reached within " +
               std::to_string(millisecondsBetween(meeting->second.begin, meeting->second.deadline)) + " ms by " +
               listAbsent(meeting->second),
           answers);
  }
}

TimePoint Barriers::nextDeadline() const {
  TimePoint next = never;
  for (const auto &[name, meeting] : open)
    next = std::min(next, meeting.deadline);
  return next;
}

} // namespace spmd::coordinator
