//===- Job.h - this process in its job --------------------------*- C++ -*-===//
//
// What joining gives: the client of the coordinator, the devices of all processes, this process's devices, and the
// collectives between them. Arrays and functions keep the job alive; the process-wide current one is Runtime.h's.
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

/// Puts together what the caller gave and what the environment says, item by item, the caller winning. Throws a usage
/// error that lists everything that is missing. `defaultDevices` is how many devices a process has where nobody says.
JoinOptions resolveJoinOptions(const InitializeOptions &options, const Environment &environment, int defaultDevices);

/// This process's certificate from what the caller gave and the environment, file by file; null where there is none.
std::shared_ptr<const TlsIdentity> resolveTls(const InitializeOptions &options, const Environment &environment);

class CheckpointWriter;
struct NetworkPlace;

/// What all processes have learned, and each throws alike.
class SharedError : public Error {
public:
  SharedError(const std::string &message, int32_t culprit, Kind kind = Kind::Failed)
      : Error(message, kind), culprit(culprit) {}
  /// The process that met the cause, or nobody.
  int32_t getCulprit() const { return culprit; }
  static constexpr int32_t nobody = -1;

private:
  int32_t culprit;
};

class Job {
public:
  /// Joins; throws as Client::join does.
  static std::shared_ptr<Job> join(JoinOptions options);
  /// Leaves in order if leave() was not called and nothing failed.
  ~Job();

  Client &getClient() const { return *client; }
  int32_t getProcess() const { return client->getProcessId(); }
  int32_t getProcessCount() const { return static_cast<int32_t>(client->topology().processes.size()); }
  const std::vector<DeviceInfo> &getDevices() const { return devices; }
  const DeviceInfo &getDevice(int64_t id) const { return devices[static_cast<size_t>(id)]; }
  const std::vector<DeviceRef> &getLocalDevices() const { return localDevices; }
  /// The executor of a local device, or null.
  DeviceRef findLocalDevice(int64_t id) const;
  CollectiveBackend &getCollectives() const { return *collectives; }
  /// What connects the GPUs of the job; null: it has none, or their collectives go through the hosts.
  cuda::GpuTransport *getGpuTransport() const { return gpuTransport.get(); }
  /// How long to wait for other processes outside of collectives.
  std::chrono::milliseconds getTimeout() const { return timeout; }

  /// What executors add to.
  ExecutionCounters &getCounters() { return counters; }
  /// Of a loop of steps: for those who ask how the job is.
  void countStep(int64_t done, int64_t wanted) {
    stepsWanted.store(wanted, std::memory_order_relaxed);
    stepsDone.store(done, std::memory_order_relaxed);
  }

  /// Host of a process: equal for processes of one machine.
  std::string hostOf(int32_t process) const;

  /// Counts 0, 1, 2, ... for each name: the same on all processes that make the same calls.
  uint64_t nextSequence(const std::string &name);

  /// Among `processes` (ascending, this one included): publishes `value` and returns everybody's, in that order. Of
  /// several threads that exchange under one name, one waits for the other.
  std::vector<std::string> exchange(const std::string &name, const std::vector<int32_t> &processes,
                                    const std::string &value);

  /// Among all processes.
  std::vector<std::string> exchangeAll(const std::string &name, const std::string &value);

  /// By folder; see Checkpoint.h.
  std::map<std::string, std::shared_ptr<CheckpointWriter>> &getCheckpointWriters() { return checkpointWriters; }

  /// By folder, the step that was restored last: what is saved there goes on from it.
  std::map<std::string, int64_t> &getRestoredSteps() { return restoredSteps; }

  /// What Program::call has begun.
  OpenLaunches &getOpenLaunches() { return openLaunches; }
  /// Waits for all launches of this process; throws the first error that one had and nobody was told yet.
  void finishLaunches();

  /// Remembers that a call failed: then the end of the process is not an ordered one.
  void markFailed() { failed = true; }
  /// Waits until the checkpoints under way are written. Writers hold arrays, and arrays the job: without this call a
  /// job might be destroyed on a writer's thread.
  void finishCheckpoints();
  /// Waits for the launches of this process, and until all processes leave. Throws the error of a launch.
  void leave();

private:
  Job() = default;

  /// What needs to know who else is there.
  void connectGpus(const JoinOptions &options);
  std::vector<int32_t> gpusOf(const Topology &topology, const ProcessInfo &self) const;
  void makeDevices(const JoinOptions &options, NetworkPlace network);
  Vitals vitals() const;

  std::chrono::milliseconds timeout{300'000};
  // Read by the client's thread: they outlive it.
  ExecutionCounters counters;
  std::atomic<int64_t> stepsDone{-1}, stepsWanted{0};
  std::unique_ptr<Client> client;
  std::vector<DeviceInfo> devices;
  std::vector<DeviceRef> localDevices;
  std::unique_ptr<CollectiveBackend> collectives;
  std::unique_ptr<cuda::GpuTransport> gpuTransport;
  OpenLaunches openLaunches;
  std::mutex sequencesMutex; ///< For the two maps below.
  std::map<std::string, uint64_t> sequences;
  std::map<std::string, std::mutex> rounds; ///< Of exchanges, by their group: held through a round.
  std::atomic<bool> failed{false};
  bool hasLeft = false;
  std::map<std::string, std::shared_ptr<CheckpointWriter>> checkpointWriters;
  std::map<std::string, int64_t> restoredSteps;
};

} // namespace spmd
