//===- Job.h - this process in its job --------------------------*- C++ -*-===//
//
// A job is the state after joining: the client of the coordinator, the devices of all processes, this process's
// devices, and the collectives between them. Arrays and functions keep the job alive; Runtime.h has the current job of
// the process.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/api/OpenLaunches.h"
#include "runtime/api/include/spmd/spmd.h"
#include "runtime/collective/Collective.h"
#include "runtime/collective/nccl/GpuTransport.h"
#include "runtime/coordinator/Client.h"
#include "runtime/device/Device.h"
#include "runtime/exec/ExecutionCounters.h"
#include "runtime/support/Env.h"

#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace spmd {

/// Combines the caller's options with the environment; the caller's win. Throws a usage error that lists all missing
/// options. `defaultDevices` is the number of devices of a process if neither the caller nor the environment gives one.
JoinOptions resolveJoinOptions(const InitializeOptions &options, const Environment &environment, int defaultDevices);

/// Returns this process's certificate from the caller's options and the environment, file by file; null if there is
/// none.
std::shared_ptr<const TlsIdentity> resolveTls(const InitializeOptions &options, const Environment &environment);

class CheckpointWriter;
struct NetworkAddresses;

/// An error that all processes know of, and each throws.
class SharedError : public Error {
public:
  SharedError(const std::string &message, int32_t culprit, Kind kind = Kind::Failed)
      : Error(message, kind), culprit(culprit) {}
  /// The process that met the cause, or -1 if it is no single process.
  int32_t getCulprit() const { return culprit; }
  static constexpr int32_t nobody = -1;

private:
  int32_t culprit;
};

/// A round in which processes exchange values through the job's store.
struct Exchange {
  std::string name; ///< The processes that exchange under one name do so equally often.
  std::string call; ///< The operation that needs the values, for messages: `device_put at a.cpp:3`.
  /// The program's calls wait for one another as long as collectives do; Files: other processes may be reading or
  /// writing files meanwhile, so Job::getTimeout applies.
  enum class Limit : uint8_t { Collective, Files };
  Limit limit = Limit::Files;
};

class Job {
public:
  /// Joins; throws as Client::join does.
  static std::shared_ptr<Job> join(JoinOptions options);
  /// Leaves in order if leave() was not called and no call failed.
  ~Job();

  Client &getClient() const { return *client; }
  int32_t getProcess() const { return client->getProcessId(); }
  int32_t getProcessCount() const { return static_cast<int32_t>(client->topology().processes.size()); }
  const std::vector<DeviceInfo> &getDevices() const { return devices; }
  const DeviceInfo &getDevice(int64_t id) const { return devices[static_cast<size_t>(id)]; }
  const std::vector<DeviceRef> &getLocalDevices() const { return localDevices; }
  /// Returns a local device, or null.
  DeviceRef findLocalDevice(int64_t id) const;
  CollectiveBackend &getCollectives() const { return *collectives; }
  /// Returns the transport between the GPUs of the job; null: the job has no GPUs, or their collectives go through the
  /// hosts.
  cuda::GpuTransport *getGpuTransport() const { return gpuTransport.get(); }
  /// Returns how long to wait for other processes that may be reading or writing files.
  std::chrono::milliseconds getTimeout() const { return timeout; }

  /// Executors add to these.
  ExecutionCounters &getCounters() { return counters; }
  /// Counts the steps of a loop of steps, for the job's status.
  void countStep(int64_t done, int64_t wanted) {
    stepsWanted.store(wanted, std::memory_order_relaxed);
    stepsDone.store(done, std::memory_order_relaxed);
  }

  /// Returns the host of a process; equal for processes of one machine.
  std::string hostOf(int32_t process) const;

  /// Counts 0, 1, 2, ... for each name, the same on all processes that make the same calls.
  uint64_t nextSequence(const std::string &name);

  /// Publishes `value` among `processes` (ascending, this one included) and returns the values of all, in that order.
  /// If several threads exchange under one name, they take turns. If a process does not come to the exchange, the job
  /// ends with a verdict that names it and the call.
  std::vector<std::string> exchange(const Exchange &what, const std::vector<int32_t> &processes,
                                    const std::string &value);

  /// Exchanges among all processes.
  std::vector<std::string> exchangeAll(const Exchange &what, const std::string &value);

  /// By folder; see Checkpoint.h.
  std::map<std::string, std::shared_ptr<CheckpointWriter>> &getCheckpointWriters() { return checkpointWriters; }

  /// The step that was restored last, by folder: the next checkpoint of that folder continues from it.
  std::map<std::string, int64_t> &getRestoredSteps() { return restoredSteps; }

  /// The launches that Program::call has begun.
  OpenLaunches &getOpenLaunches() { return openLaunches; }
  /// Waits for all launches of this process; throws the first error that was not thrown to a caller yet.
  void finishLaunches();

  /// Remembers that a call failed: the end of the process then counts as a failure.
  void markFailed() { failed = true; }
  /// Waits until all checkpoints are written. Writers hold arrays, and arrays hold the job: without this call a job
  /// might be destroyed on a writer's thread.
  void finishCheckpoints();
  /// Waits for the launches of this process, and until all processes leave. Throws the error of a launch.
  void leave();

private:
  Job() = default;

  /// The following functions need the topology.
  void connectGpus(const JoinOptions &options);
  std::vector<int32_t> ordinalsOf(const Topology &topology, const ProcessInfo &self) const;
  void makeDevices(const JoinOptions &options, NetworkAddresses network);
  ProcessStatistics statistics() const;

  std::chrono::milliseconds timeout{300'000}, collectiveTimeout{300'000};
  // The client's thread reads these, so they must outlive the client.
  ExecutionCounters counters;
  std::atomic<int64_t> stepsDone{-1}, stepsWanted{0};
  std::unique_ptr<Client> client;
  std::vector<DeviceInfo> devices;
  std::vector<DeviceRef> localDevices;
  std::unique_ptr<CollectiveBackend> collectives;
  std::unique_ptr<cuda::GpuTransport> gpuTransport;
  OpenLaunches openLaunches;
  std::mutex sequencesMutex; ///< Guards the two maps below.
  std::map<std::string, uint64_t> sequences;
  std::map<std::string, std::mutex> rounds; ///< By group of an exchange; held during a round.
  std::atomic<bool> failed{false};
  bool hasLeft = false;
  std::map<std::string, std::shared_ptr<CheckpointWriter>> checkpointWriters;
  std::map<std::string, int64_t> restoredSteps;
};

} // namespace spmd
