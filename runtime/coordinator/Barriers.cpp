#include "runtime/coordinator/Barriers.h"

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
  for (auto [process, request] : meeting->second.present)
    answers.push_back({{process, request}, false, why});
  failed[meeting->first] = why;
  failedOrder.push_back(meeting->first);
  if (failedOrder.size() > maxNames) {
    failed.erase(failedOrder.front());
    failedOrder.pop_front();
  }
  open.erase(meeting);
}

void Barriers::arrive(Requester from, const std::string &name, TimePoint deadline, std::vector<Answer> &answers,
                      TimePoint now) {
  auto refuse = [&](const std::string &why) { answers.push_back({from, false, why}); };
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
    return refuse("barrier `" + name + "`: this process already waits there, on another thread");
  meeting->second.deadline = std::min(meeting->second.deadline, deadline);
  if (meeting->second.present.size() != static_cast<size_t>(numProcesses))
    return;
  for (auto [process, request] : meeting->second.present)
    answers.push_back({{process, request}, true, ""});
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
