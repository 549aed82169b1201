//===- CpuDevice.h - cores of this host as a device -------------*- C++ -*-===//
//
// A CPU device is one thread (with a pool for parallel loops, if it has more than one core) and memory that
// other processes of the host, if the job has any, map to read its buffers directly.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/device/Device.h"
#include "runtime/device/cpu/CpuMemory.h"
#include "runtime/device/cpu/ParallelFor.h"
#include "runtime/device/cpu/WorkQueue.h"
#include "runtime/support/BackgroundThread.h"

#include <vector>

namespace spmd {

struct CpuDeviceOptions {
  /// Devices of the job on this host, which share its cores.
  int hostDeviceCount = 1;
  /// Threads of each device; 0: cores that this process may use / hostDeviceCount, at least 1.
  int threadsPerDevice = 0;
  /// Whether other processes of this host map the memory of these devices.
  bool isShared = true;
};

/// Returns the number of threads of each device with these options.
int threadsPerCpuDevice(const CpuDeviceOptions &options);

class CpuDevice final : public Device {
public:
  CpuDevice(int64_t id, const CpuDeviceOptions &options);
  ~CpuDevice() override;

  std::string_view getBackend() const override { return "cpu"; }
  DeviceBufferRef allocate(int64_t bytes) override;
  DeviceBufferRef adopt(void *data, int64_t bytes, std::shared_ptr<void> owner) override;
  void copyFromHost(DeviceBuffer &target, const void *source, int64_t bytes, int64_t targetOffset) override;
  void copyToHost(void *target, const DeviceBuffer &source, int64_t bytes, int64_t sourceOffset) override;
  void enqueue(std::function<void()> task) override { work->push(std::move(task)); }
  void runQueued(const std::function<bool()> &isOver) override;
  bool sharesCores() const override { return !ownsCore; }
  int64_t bytesInUse() const override { return memory->bytesInUse(); }
  int64_t peakBytesInUse() const override { return memory->peakBytesInUse(); }

  CpuMemory &getMemory() { return *memory; }
  /// For the work of the device only.
  ParallelFor &getParallelFor() { return *parallelFor; }
  /// Whether there is a core for each device of this host.
  bool hasOwnCore() const { return ownsCore; }
  int getThreadCount() const { return parallelFor->getThreadCount(); }

private:
  const bool ownsCore;
  std::shared_ptr<CpuMemory> memory; ///< Buffers share the ownership.
  std::unique_ptr<ParallelFor> parallelFor;
  /// The thread keeps it alive, because the last reference to a device may be dropped on that very thread.
  std::shared_ptr<WorkQueue> work;
  BackgroundThread thread;
};

/// Creates the CPU devices of this process, with these ids.
std::vector<DeviceRef> createCpuDevices(const std::vector<int64_t> &ids, const CpuDeviceOptions &options);

} // namespace spmd
