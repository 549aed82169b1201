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
    forget(it->second.from);
  }
  waits.erase(begin, end);
}

/// Updates the counts for a wait that ends.
void KeyValueStore::forget(Requester from) {
  --waitCounts[from.process];
  if (auto only = onlyWaits.find(from.process); only != onlyWaits.end() && only->second.first == from.request)
    onlyWaits.erase(only);
}

void KeyValueStore::wait(int32_t process, const WaitRequest &request, std::vector<Answer> &answers, TimePoint now) {
  Requester from{process, request.request};
  if (request.thread == WaitingThread::OneOfSeveral) // Another thread of the waiting process can still set keys.
    onlyWaits.erase(process);
  auto found = values.find(request.key);
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
  waits.emplace(request.key, Wait{from, request.key, request.setter, request.call, now, after(now, request.timeoutMs)});
  if (request.thread == WaitingThread::Only)
    onlyWaits[process] = {request.request, request.key};
}

void KeyValueStore::removePrefix(Requester from, const std::string &prefix, std::vector<Answer> &answers) {
  auto it = values.lower_bound(prefix);
  while (it != values.end() && it->first.compare(0, prefix.size(), prefix) == 0) {
    bytes -= it->first.size() + it->second.size();
    it = values.erase(it);
  }
  answers.push_back({from, true, ""});
}

template <typename Condition> std::vector<KeyValueStore::Wait> KeyValueStore::take(const Condition &condition) {
  std::vector<Wait> taken;
  for (auto it = waits.begin(); it != waits.end();) {
    if (!condition(it->second)) {
      ++it;
      continue;
    }
    forget(it->second.from);
    taken.push_back(std::move(it->second));
    it = waits.erase(it);
  }
  return taken;
}

std::vector<KeyValueStore::Wait> KeyValueStore::takeExpired(TimePoint now) {
  return take([&](const Wait &wait) { return wait.deadline <= now; });
}

std::vector<KeyValueStore::Wait> KeyValueStore::takeWaitsFor(int32_t setter) {
  return take([&](const Wait &wait) { return wait.setter == setter; });
}

const KeyValueStore::Wait *KeyValueStore::findOnlyWait(int32_t process) const {
  auto only = onlyWaits.find(process);
  if (only == onlyWaits.end())
    return nullptr;
  const auto &[request, key] = only->second;
  auto [begin, end] = waits.equal_range(key);
  for (auto it = begin; it != end; ++it)
    if (it->second.from.process == process && it->second.from.request == request)
      return &it->second;
  return nullptr;
}

std::vector<int32_t> KeyValueStore::findProcessesAtWait() const {
  std::vector<int32_t> processes;
  for (const auto &[process, wait] : onlyWaits)
    processes.push_back(process);
  return processes;
}

TimePoint KeyValueStore::nextDeadline() const {
  TimePoint next = never;
  for (const auto &[key, wait] : waits)
    next = std::min(next, wait.deadline);
  return next;
}

} // namespace spmd::coordinator
