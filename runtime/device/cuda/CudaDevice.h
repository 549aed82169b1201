//===- CudaDevice.h - a GPU as a device of the job --------------*- C++ -*-===//
//
// A stream of a GPU, and a CpuDevice that serves it: its thread queues the work, and its memory, which the processes of
// this host share, stages values for collectives between devices.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/device/Device.h"
#include "runtime/device/cpu/CpuDevice.h"
#include "runtime/device/cuda/Gpu.h"
#include "runtime/device/cuda/Library.h"
#include "runtime/device/cuda/StreamMemory.h"

#include <vector>

namespace spmd {

class CudaDevice final : public Device {
public:
  /// `host` has the same id. Throws spmd::Error.
  CudaDevice(std::shared_ptr<cuda::Gpu> gpu, std::shared_ptr<const cuda::Library> library,
             std::shared_ptr<CpuDevice> host);
  ~CudaDevice() override;

  std::string_view getBackend() const override { return "cuda"; }
  int32_t getOrdinal() const override { return gpu->getOrdinal(); }
  DeviceBufferRef allocate(int64_t bytes) override;
  DeviceBufferRef adopt(void *data, int64_t bytes, std::shared_ptr<void> owner) override;
  void copyFromHost(DeviceBuffer &target, const void *source, int64_t bytes, int64_t targetOffset) override;
  void copyToHost(void *target, const DeviceBuffer &source, int64_t bytes, int64_t sourceOffset) override;
  void enqueue(std::function<void()> work) override { host->enqueue(std::move(work)); }
  int64_t bytesInUse() const override { return memory->bytesInUse(); }
  int64_t peakBytesInUse() const override { return memory->peakBytesInUse(); }

  /// Returns host memory that collectives access without a copy, and the GPU directly if the system allows it.
  DeviceBufferRef allocateStaging(int64_t bytes);

  const cuda::Gpu &getGpu() const { return *gpu; }
  const cuda::Library &getLibrary() const { return *library; }
  cuda::Stream getStream() const { return memory->getStream(); }
  std::shared_ptr<CpuDevice> getHost() const { return host; }

private:
  std::shared_ptr<cuda::Gpu> gpu;
  std::shared_ptr<const cuda::Library> library;
  std::shared_ptr<CpuDevice> host;
  std::shared_ptr<cuda::StreamMemory> memory;
};

struct CudaDeviceOptions {
  CpuDeviceOptions host;
  /// Several devices may use one GPU, device i GPU i modulo their number: for tests of programs for more devices than
  /// there are.
  bool sharesGpus = false;
};

/// Creates devices with these ids, on the GPUs of these numbers. Throws spmd::Error that names what is missing.
std::vector<DeviceRef> createCudaDevices(const std::vector<int64_t> &ids, const std::vector<int32_t> &gpus,
                                         const CudaDeviceOptions &options);

} // namespace spmd
