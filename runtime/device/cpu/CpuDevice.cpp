//===- CpuDevice.cpp - cores of this host as a device ---------------------===//

#include "runtime/device/cpu/CpuDevice.h"
#include "runtime/device/DeviceBuffers.h"
#include "runtime/support/Error.h"
#include "runtime/support/Process.h"

#include <algorithm>
#include <cstring>

namespace spmd {
namespace {

/// Frees its memory in the destructor; keeps the device's memory alive beyond the device if necessary.
class CpuBuffer final : public DeviceBuffer {
public:
  CpuBuffer(std::shared_ptr<CpuMemory> memory, int64_t bytes)
      : DeviceBuffer(memory->allocate(bytes), bytes), memory(std::move(memory)) {}
  ~CpuBuffer() override { memory->free(data()); }

private:
  std::shared_ptr<CpuMemory> memory;
};

} // namespace

int threadsPerCpuDevice(const CpuDeviceOptions &options) {
  if (options.threadsPerDevice > 0)
    return options.threadsPerDevice;
  return std::max(1, availableCores() / std::max(1, options.hostDeviceCount));
}

CpuDevice::CpuDevice(int64_t id, const CpuDeviceOptions &options)
    : Device(id), ownsCore(options.hostDeviceCount <= availableCores()),
      memory(std::make_shared<CpuMemory>(id, options.isShared)),
      parallelFor(std::make_unique<ParallelFor>(threadsPerCpuDevice(options), spinTime)),
      work(std::make_shared<WorkQueue>(ownsCore)) {
  thread = BackgroundThread("spmd-" + str(), [work = work] { work->runUntilStopped(); });
}

CpuDevice::~CpuDevice() {
  work->stop();
  if (thread.isCurrent())
    thread.detach();
  else
    thread.join();
}

DeviceBufferRef CpuDevice::allocate(int64_t bytes) { return std::make_shared<CpuBuffer>(memory, bytes); }

DeviceBufferRef CpuDevice::adopt(void *data, int64_t bytes, std::shared_ptr<void> owner) {
  return std::make_shared<AdoptedBuffer>(data, bytes, std::move(owner));
}

void CpuDevice::copyFromHost(DeviceBuffer &target, const void *source, int64_t bytes, int64_t targetOffset) {
  checkRange(*this, target, targetOffset, bytes);
  if (bytes > 0) // An empty array has no address.
    std::memcpy(static_cast<char *>(target.data()) + targetOffset, source, bytes);
}

void CpuDevice::copyToHost(void *target, const DeviceBuffer &source, int64_t bytes, int64_t sourceOffset) {
  checkRange(*this, source, sourceOffset, bytes);
  if (bytes > 0)
    std::memcpy(target, static_cast<const char *>(source.data()) + sourceOffset, bytes);
}

void CpuDevice::runQueued(const std::function<bool()> &isOver) {
  std::shared_ptr<WorkQueue> kept = work; // The work may drop the last reference to this device.
  kept->runHere(isOver);
}

std::vector<DeviceRef> createCpuDevices(const std::vector<int64_t> &ids, const CpuDeviceOptions &options) {
  std::vector<DeviceRef> devices;
  for (int64_t id : ids)
    devices.push_back(std::make_shared<CpuDevice>(id, options));
  return devices;
}

} // namespace spmd
