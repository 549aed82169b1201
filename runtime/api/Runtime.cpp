//===- Runtime.cpp - the process's current job ----------------------------===//

#include "runtime/api/Runtime.h"

#include <cstdio>
#include <iostream>
#include <mutex>

namespace spmd {
namespace {

struct State {
  ~State() {
    try {
      if (job)
        job->finishCheckpoints();
    } catch (const Error &) {
      // The job is over; other processes print the verdict.
    }
  }

  std::mutex mutex;
  std::shared_ptr<Job> job;
  std::optional<std::source_location> initializedAt, touchedAt;
  bool isShutDown = false;
};

State &state() {
  static State instance;
  return instance;
}

std::string placeText(const std::source_location &where) {
  return std::string(where.file_name()) + ":" + std::to_string(where.line());
}

/// Warns if the environment says that there are several processes: a program that forgot initialize() would run once
/// for each, and each would work alone. A process may well work alone in such an environment, so this is no error.
void warnOfWorkingAlone(const std::source_location &where) {
  std::vector<std::string> ignored;
  Environment found = Environment::read(/*isAlone=*/false, &ignored);
  if (found.numProcesses.value_or(1) < 2)
    return;
  std::string who = "SPMD_NUM_PROCESSES says";
  if (!Environment::read(/*isAlone=*/true, &ignored).numProcesses)
    for (const Cluster &cluster : found.clusters)
      if (cluster.isFound()) {
        who = cluster.name + "'s variables say";
        break;
      }
  // One write, so that the texts of several processes do not mix.
  std::cerr << "spmd: warning: devices are used at " + placeText(where) +
                   " without initialize(), so this process works alone, while " + who + " that it is one of " +
                   std::to_string(*found.numProcesses) +
                   "; call initialize() before, or initialize({.num_processes = 1}) if it should work alone\n";
}

} // namespace

void checkNotInitialized(std::source_location where) {
  State &current = state();
  std::lock_guard lock(current.mutex);
  if (current.initializedAt)
    throw Error("initialize() at " + placeText(where) + " is the second call: the first was at " +
                    placeText(*current.initializedAt) + "; call it once, or shutdown() in between",
                Error::Kind::Usage);
  if (current.touchedAt)
    throw Error("initialize() at " + placeText(where) + " comes too late: devices were first used at " +
                    placeText(*current.touchedAt) + "; call initialize() before",
                Error::Kind::Usage);
}

/// Writes a line to stderr, with `process` if there are several. Does not use std::cerr, which first waits until the
/// reader of std::cout has taken all.
static void tellOnStandardError(std::optional<int32_t> process, bool isWarning, const std::string &text) {
  std::string line = "spmd: " + (process ? "process " + std::to_string(*process) + ": " : "") +
                     (isWarning ? "warning: " : "") + text + "\n";
  std::fputs(line.c_str(), stderr);
}

void initializeRuntime(JoinOptions options, std::source_location where) {
  checkNotInitialized(where);
  if (!options.notice)
    options.notice = [process = options.processId](const Notice &notice) {
      tellOnStandardError(process, notice.level == Notice::Level::Warning, notice.text);
    };
  std::shared_ptr<Job> job = Job::join(std::move(options));
  State &current = state();
  std::lock_guard lock(current.mutex);
  current.job = std::move(job);
  current.initializedAt = where;
  current.isShutDown = false;
}

void initialize(const InitializeOptions &options, std::source_location where) {
  checkNotInitialized(where);
  Environment environment = Environment::read(/*isAlone=*/options.num_processes == 1);
  auto warn = [&](const std::string &text) {
    options.notice ? options.notice(text, true) : tellOnStandardError({}, true, text);
  };
  // First, because a misspelt variable may be why an option is missing.
  for (const std::string &misspelt : environment.misspelt)
    warn(misspelt);
  JoinOptions join = resolveJoinOptions(options, environment, /*defaultDevices=*/1);
  if (join.numProcesses == 1 && !options.num_processes && !environment.clusterWarning.empty())
    warn(environment.clusterWarning);
  initializeRuntime(std::move(join), where);
}

void shutdown() {
  State &current = state();
  std::shared_ptr<Job> job;
  {
    std::lock_guard lock(current.mutex);
    job = std::move(current.job);
    current.job = nullptr;
    current.isShutDown = current.isShutDown || job != nullptr;
    current.initializedAt.reset();
    current.touchedAt.reset();
  }
  if (job)
    job->leave();
}

std::shared_ptr<Job> currentJob(std::source_location where) {
  State &current = state();
  std::lock_guard lock(current.mutex);
  if (!current.job) {
    if (current.isShutDown)
      throw Error(std::string("devices are used at ") + placeText(where) +
                      " after shutdown(); call initialize() again before",
                  Error::Kind::Usage);
    warnOfWorkingAlone(where);
    Environment environment = Environment::read(/*isAlone=*/true);
    InitializeOptions alone;
    alone.num_processes = 1;
    alone.process_id = 0;
    current.job = Job::join(resolveJoinOptions(alone, environment, /*defaultDevices=*/1));
    current.touchedAt = where;
  }
  return current.job;
}

int process_index(std::source_location where) { return currentJob(where)->getProcess(); }
int process_count(std::source_location where) { return currentJob(where)->getProcessCount(); }

std::vector<DeviceInfo> devices(std::source_location where) { return currentJob(where)->getDevices(); }

std::vector<DeviceInfo> local_devices(std::source_location where) {
  std::shared_ptr<Job> job = currentJob(where);
  std::vector<DeviceInfo> result;
  for (const DeviceInfo &device : job->getDevices())
    if (device.process_index == job->getProcess())
      result.push_back(device);
  return result;
}

int64_t device_count(std::source_location where) {
  return static_cast<int64_t>(currentJob(where)->getDevices().size());
}

int64_t local_device_count(std::source_location where) {
  return static_cast<int64_t>(currentJob(where)->getLocalDevices().size());
}

void sync_processes(const std::string &name, std::chrono::milliseconds timeout, std::source_location where) {
  std::shared_ptr<Job> job = currentJob(where);
  try {
    job->getClient().barrier(name, timeout);
  } catch (const Error &error) {
    job->markFailed();
    // Also to those that are not at the barrier: they would only learn that a process ended without goodbye.
    if (error.getKind() != Error::Kind::Verdict)
      job->getClient().reportSharedFailure(error.what(), SharedError::nobody);
    throw;
  }
}

std::string DeviceInfo::str() const {
  std::string kind = platform == "cpu" ? "Cpu" : platform == "cuda" ? "Cuda" : platform;
  return kind + "Device(id=" + std::to_string(id) + ")";
}

} // namespace spmd
