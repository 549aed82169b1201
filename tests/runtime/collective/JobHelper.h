//===- JobHelper.h - test jobs of real processes ----------------*- C++ -*-===//
//
// Forks processes, without a coordinator, that share a store and a health flag in anonymous memory. Each creates its
// devices and runs a body on every device's thread. The test gets what the bodies return, or the errors that they
// throw.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/collective/net/NetCollectives.h"
#include "runtime/device/cpu/CpuDevice.h"

#include <functional>
#include <sys/types.h>

namespace spmd::test {

/// The state that the processes of a test job share.
struct SharedJob;

class SharedStore final : public Store {
public:
  explicit SharedStore(SharedJob &job) : job(job) {}
  void set(const std::string &key, const std::string &value) override;
  std::string wait(const std::string &key, const Awaited &awaited) override;
  void removePrefix(const std::string &prefix) override;

private:
  SharedJob &job;
};

class SharedHealth final : public Health {
public:
  explicit SharedHealth(SharedJob &job) : job(job) {}
  void atStep(uint64_t launch, int32_t step, const SourceLocation &location) override {}
  bool isOver() const override;
  [[noreturn]] void throwVerdict() override;
  void reportFailure(const std::string &message) override;
  void reportMissing(int32_t process, const std::string &message) override;

private:
  SharedJob &job;
};

struct Layout {
  int processes = 1, devicesPerProcess = 1;
  int threadsPerDevice = 1;
  /// The host of each process; empty: one host for all. Processes of different hosts share no memory and use the
  /// network.
  std::vector<int> hosts = {};
  CollectiveTimeouts timeouts = {};
};

/// A device as a body sees it. `position` is the global id: the communicator has all devices in order.
struct DeviceContext {
  int64_t position = 0;
  int32_t process = 0;
  DeviceRef device;
  std::shared_ptr<Communicator> communicator;
  CommunicatorEndpoint *endpoint = nullptr;
  Health *health = nullptr;

  /// Prepares, runs once, and returns the result's bytes. Both buffers are device memory.
  std::vector<char> call(const MeshShape &mesh, const CollectiveDesc &desc, const std::vector<char> &operand,
                         const CallSite &site = {});
};

struct Outcome {
  std::vector<char> bytes;
  std::string error; ///< Empty: no error.
  double seconds = 0;
};

using DeviceBody = std::function<std::vector<char>(DeviceContext &)>;
/// Runs in the parent while the processes run.
using Overseer = std::function<void(const std::vector<pid_t> &pids, SharedJob &job)>;

/// A process as a body of runProcesses sees it, on its main thread.
struct ProcessContext {
  int32_t process = 0;
  std::vector<DeviceRef> devices;
  CollectiveBackend *collectives = nullptr;
  Health *health = nullptr;
};
using ProcessBody = std::function<std::vector<char>(ProcessContext &)>;

/// One outcome per process.
std::vector<Outcome> runProcesses(const Layout &layout, const ProcessBody &body, const Overseer &overseer = {});

/// One outcome per device, by global id; a process that dies leaves `process died` for its devices.
std::vector<Outcome> runJob(const Layout &layout, const DeviceBody &body, const Overseer &overseer = {});

/// For overseers and bodies: ends the job as the coordinator would; meets at a numbered point.
void declareOver(SharedJob &job, const std::string &verdict);
void signalPoint(SharedJob &job, int point);
void awaitPoint(SharedJob &job, int point, int count);
SharedJob &currentJob();

int64_t elementCount(const std::vector<int64_t> &shape);

} // namespace spmd::test
