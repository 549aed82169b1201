#include "runtime/coordinator/KeyValueStore.h"

namespace spmd::coordinator {

void KeyValueStore::set(Requester from, const std::string &key, const std::string &value,
                        std::vector<Answer> &answers) {
  auto found = values.find(key);
  if (found != values.end()) {
    bool same = found->second == value;
    answers.push_back({from, same, same ? "" : "key `" + key + "` of the job's store is already set to another value"});
    return;
  }
  if (values.size() >= quotas.keys || bytes + key.size() + value.size() > quotas.bytes) {
    answers.push_back({from, false,
                       "the job's store is full (" + std::to_string(values.size()) + " keys, " + std::to_string(bytes) +
                           " bytes): remove what is no longer needed"});
    return;
  }
  values.emplace(key, value);
  bytes += key.size() + value.size();
  answers.push_back({from, true, ""});
  auto [begin, end] = waits.equal_range(key);
  for (auto it = begin; it != end; ++it) {
    answers.push_back({it->second.from, true, value});
    --waitCounts[it->second.from.process];
  }
  waits.erase(begin, end);
}

void KeyValueStore::wait(Requester from, const std::string &key, TimePoint deadline, std::vector<Answer> &answers,
                         TimePoint now) {
  auto found = values.find(key);
  if (found != values.end()) {
    answers.push_back({from, true, found->second});
    return;
  }
  size_t &count = waitCounts[from.process];
  if (count >= quotas.waitsPerProcess) {
    answers.push_back({from, false, "too many threads of this process wait for the job's store"});
    return;
  }
  ++count;
  waits.emplace(key, Wait{from, now, deadline});
}

void KeyValueStore::removePrefix(Requester from, const std::string &prefix, std::vector<Answer> &answers) {
  auto it = values.lower_bound(prefix);
  while (it != values.end() && it->first.compare(0, prefix.size(), prefix) == 0) {
    bytes -= it->first.size() + it->second.size();
    it = values.erase(it);
  }
  answers.push_back({from, true, ""});
}

void KeyValueStore::expire(TimePoint now, std::vector<Answer> &answers) {
  for (auto it = waits.begin(); it != waits.end();) {
    if (it->second.deadline > now) {
      ++it;
      continue;
    }
    answers.push_back({it->second.from, false,
                       "no process has set key `" + it->first + "` of the job's store within " +
                           std::to_string(millisecondsBetween(it->second.begin, it->second.deadline)) + " ms"});
    --waitCounts[it->second.from.process];
    it = waits.erase(it);
  }
}

TimePoint KeyValueStore::nextDeadline() const {
  TimePoint next = never;
  for (const auto &[key, wait] : waits)
    next = std::min(next, wait.deadline);
  return next;
}

} // namespace spmd::coordinator
