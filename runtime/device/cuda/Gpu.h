//===- Gpu.h - one GPU of this process --------------------------*- C++ -*-===//
//
// The card itself: its primary context, which libraries of the process share, its pool of memory, and what it is able
// to do. Devices of the job (CudaDevice) work on it, each with a stream of its own; mostly there is one for a card.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/device/cuda/Driver.h"

#include <memory>
#include <string>
#include <vector>

namespace spmd::cuda {

/// All members may be used from any thread.
class Gpu {
public:
  /// Number `ordinal` of those that the driver shows. Throws spmd::Error.
  Gpu(std::shared_ptr<const Driver> driver, int ordinal);
  ~Gpu();
  Gpu(const Gpu &) = delete;
  Gpu &operator=(const Gpu &) = delete;

  const Driver &getDriver() const { return *driver; }
  std::shared_ptr<const Driver> getSharedDriver() const { return driver; }
  int getOrdinal() const { return ordinal; }
  const std::string &getName() const { return name; } ///< `NVIDIA H100 80GB HBM3`.
  std::string getUuid() const;                        ///< `GPU-5f0c...`, as nvidia-smi writes it.
  int64_t getTotalBytes() const { return totalBytes; }
  /// 90 for compute capability 9.0.
  int getCapability() const { return capability; }
  int getMultiprocessors() const { return multiprocessors; }
  int getMaxSharedBytesPerBlock() const { return maxSharedBytes; }
  /// Without architecture-specific instructions: `sm_90`.
  std::string getArchitecture() const { return "sm_" + std::to_string(capability); }

  /// The calling thread uses this GPU from now on.
  void makeCurrent() const { driver->check(driver->CtxSetCurrent(context), "cuCtxSetCurrent"); }

  /// Memory that is there when the stream has come so far. Throws spmd::Error where there is none left.
  DevicePointer allocate(int64_t bytes, Stream stream) const;
  /// For when the stream has come so far. Never throws: a card with an error has lost its memory anyway.
  void free(DevicePointer pointer, Stream stream) const noexcept;

private:
  std::shared_ptr<const Driver> driver;
  int ordinal;
  GpuHandle handle = 0;
  Context context = nullptr;
  MemoryPool pool = nullptr;
  std::string name;
  Uuid uuid{};
  int64_t totalBytes = 0;
  int capability = 0, multiprocessors = 0, maxSharedBytes = 0;
};

} // namespace spmd::cuda
