//===- Executor.h - runs a plan on this process's devices -------*- C++ -*-===//
//
// Loads an artifact, prepares it once per device (arena, constants, resolved steps, prepared collectives), and runs it
// many times with no allocation per step. It does not know arrays, files or the network: the public API combines it
// with devices, collectives and the control plane.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/artifact/Health.h"
#include "runtime/artifact/Plan.h"
#include "runtime/collective/Collective.h"
#include "runtime/device/Device.h"
#include "runtime/exec/ExecutionCounters.h"

#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace spmd {

/// A value on the host, row-major; valid during the call that passes it.
struct HostView {
  DType dtype = DType::F32;
  std::vector<int64_t> shape;
  const void *data = nullptr;
};

/// Called by `print` in a program: texts has one more entry than values (text, value, text, ..., text).
using PrintFunction = std::function<void(const std::vector<std::string> &texts, const std::vector<HostView> &values)>;

class ProfileLog;
namespace cuda {
class GpuTransport;
}

struct ExecutorOptions {
  /// The global device at each mesh position; as many as the plan's mesh has.
  std::vector<int64_t> devices;
  /// All local devices of this process; those that the mesh does not use are ignored.
  std::vector<DeviceRef> localDevices;
  /// Required if the plan has collectives or prints. Must outlive the executor.
  CollectiveBackend *collectives = nullptr;
  /// Connects the GPUs of the job; null: their collectives use `collectives`. Must outlive the executor.
  cuda::GpuTransport *gpuTransport = nullptr;
  /// May be null. Must outlive the executor.
  Health *health = nullptr;
  /// May be null. Must outlive the executor.
  ExecutionCounters *counters = nullptr;
  /// Receives the events of all runs; may be null. Must outlive the executor.
  ProfileLog *profileLog = nullptr;
  /// A run whose results or printed values contain a NaN fails with an error that names the step that made it
  /// (NanCheck.h). All devices of the mesh agree on that, so the run fails with a NanError on every process, and the
  /// next run works.
  bool checkNans = false;
  /// A run with a NaN ends the job instead: the process that found the NaN reports its failure to `health`.
  bool nansEndJob = false;
  /// Called on the process of the mesh device with the smallest id; if it is empty there, prints do nothing.
  PrintFunction print;
  /// How long preparation waits for other processes.
  std::chrono::milliseconds prepareTimeout{300'000};
  /// Fingerprint of the program, compared among processes; 0: computed from the artifact.
  uint64_t fingerprint = 0;
};

/// Begin and end of a step on a device, in nanoseconds of the steady clock.
struct ProfileEvent {
  int32_t step = 0; ///< Index into Executor::stepInfo.
  int64_t device = 0;
  int64_t beginNs = 0, endNs = 0;
};

/// Describes the step of a number in profiles and messages.
struct StepInfo {
  std::string name; ///< `fused_add`, `matmul`, `all_reduce`, ...
  SourceLocation location;
  enum class Collective : uint8_t { None, Start, Done };
  Collective collective = Collective::None;
  int32_t pairedStep = -1;   ///< For the end of a collective: the number of its start.
  std::vector<AxisRef> axes; ///< The axes of the collective.
};

/// A run in flight.
class Launch {
public:
  virtual ~Launch() = default;
  /// Waits for all local devices; throws the error of the first device that failed. May be called again.
  virtual void wait() = 0;
  virtual bool isDone() const = 0;
};

class Executor {
public:
  virtual ~Executor() = default;

  /// Collective among the processes of the mesh if the plan has collectives. Throws spmd::Error if the code does not
  /// run on these devices, a symbol is missing, or the mesh does not match the devices.
  static std::unique_ptr<Executor> create(std::shared_ptr<const Artifact> artifact, ExecutorOptions options);

  virtual const Artifact &getArtifact() const = 0;
  /// The mesh positions of this process's devices, ascending: the order of `arguments` and `results` below.
  virtual const std::vector<int64_t> &getLocalPositions() const = 0;
  /// The devices at these positions.
  virtual const std::vector<DeviceRef> &getLocalDevices() const = 0;

  /// Queues one run. arguments[i][j] is parameter j on local position i, of at least ValueInfo::localBytes() bytes; the
  /// same holds for results. A buffer may be both if Plan::aliases allows it. The run keeps the buffers alive. Runs of
  /// all executors of the process execute in the order of the calls, also if several threads call. With `profile`, the
  /// events of all devices are added to it before the run is done.
  virtual std::shared_ptr<Launch> launch(std::vector<std::vector<DeviceBufferRef>> arguments,
                                         std::vector<std::vector<DeviceBufferRef>> results,
                                         std::vector<ProfileEvent> *profile = nullptr) = 0;

  /// Calls launch and waits.
  void run(std::vector<std::vector<DeviceBufferRef>> arguments, std::vector<std::vector<DeviceBufferRef>> results,
           std::vector<ProfileEvent> *profile = nullptr) {
    launch(std::move(arguments), std::move(results), profile)->wait();
  }

  /// Names of the steps in ProfileEvents, nested steps after their parent.
  virtual const std::vector<StepInfo> &getStepInfo() const = 0;

  /// Bytes of arena and constants per device.
  virtual int64_t bytesPerDevice() const = 0;
};

} // namespace spmd
