#include "runtime/coordinator/LocalClient.h"

#include "runtime/support/Error.h"
#include "runtime/support/Process.h"

#include <new>
#include <unistd.h>

namespace spmd::coordinator {

LocalClient::LocalClient(const JoinOptions &options) : statistics(options.statistics), start(Clock::now()) {
  ProcessInfo info;
  info.host = hostName();
  info.bootId = options.hostId.empty() ? machineId() : options.hostId;
  info.pid = ::getpid();
  info.localDeviceIds = options.localDeviceIds;
  places.processes.push_back(std::move(info));
}

void LocalClient::checkOver() {
  if (isOver())
    throwVerdict();
}

void LocalClient::barrier(const std::string &, std::chrono::milliseconds) { checkOver(); }

void LocalClient::goodbye() { checkOver(); }

/// Without heartbeats, the rate is the one between two calls.
JobStatus LocalClient::status() {
  TimePoint now = Clock::now();
  JobStatus status;
  status.stage = isOver() ? JobStatus::Stage::Over : JobStatus::Stage::Running;
  status.numProcesses = 1;
  status.uptimeMs = millisecondsBetween(start, now);
  ProcessStatus self;
  self.host = places.processes[0].host;
  self.pid = places.processes[0].pid;
  self.devices = static_cast<int32_t>(places.processes[0].localDeviceIds.size());
  self.position = position.read();
  if (statistics)
    self.statistics = statistics();
  std::lock_guard lock(mutex);
  if (failure)
    status.verdict = failure->str();
  rate.add(static_cast<double>(self.statistics.stepsDone >= 0 ? static_cast<uint64_t>(self.statistics.stepsDone)
                                                              : self.statistics.launches),
           now);
  self.rate = rate.rate(now);
  status.processes.push_back(std::move(self));
  return status;
}

std::optional<Verdict> LocalClient::verdict() const {
  std::lock_guard lock(mutex);
  return failure;
}

void LocalClient::set(const std::string &key, const std::string &value) {
  checkOver();
  std::lock_guard lock(mutex);
  auto [found, isNew] = values.emplace(key, value);
  if (!isNew && found->second != value)
    throw Error("key `" + key + "` of the job's store is already set to another value");
  changed.notify_all();
}

std::string LocalClient::wait(const std::string &key, const Awaited &awaited) {
  std::unique_lock lock(mutex);
  bool ready = changed.wait_for(lock, awaited.timeout, [&] { return values.count(key) != 0 || isOver(); });
  if (isOver()) {
    lock.unlock();
    throwVerdict();
  }
  if (!ready)
    throw Error("no process has set key `" + key + "` of the job's store within " +
                std::to_string(awaited.timeout.count()) + " ms");
  return values.at(key);
}

void LocalClient::removePrefix(const std::string &prefix) {
  checkOver();
  std::lock_guard lock(mutex);
  auto it = values.lower_bound(prefix);
  while (it != values.end() && it->first.compare(0, prefix.size(), prefix) == 0)
    it = values.erase(it);
}

void LocalClient::atStep(uint64_t launch, int32_t step, const SourceLocation &location) {
  position.write(launch, step, location);
}

void LocalClient::throwVerdict() {
  std::lock_guard lock(mutex);
  throw Error(failure ? failure->str() : "the job has not ended", Error::Kind::Verdict);
}

void LocalClient::reportFailure(const std::string &message) { end(Verdict::Cause::Failed, 0, message); }

void LocalClient::reportInterruption(int signal) { end(Verdict::Cause::Interrupted, signal, ""); }

void LocalClient::end(Verdict::Cause cause, int signal, const std::string &text) {
  std::lock_guard lock(mutex);
  if (failure)
    return;
  failure.emplace();
  failure->culprit = 0;
  failure->host = places.processes[0].host;
  failure->pid = places.processes[0].pid;
  failure->cause = cause;
  failure->detail = signal;
  try {
    failure->text = text;
    failure->position = position.read();
  } catch (const std::bad_alloc &) { // Without host and text: there may be no memory for them.
  }
  over.store(true, std::memory_order_release);
  changed.notify_all();
}

} // namespace spmd::coordinator
