//===- Gpu.h - one GPU of this process --------------------------*- C++ -*-===//
//
// The GPU itself: its primary context, which libraries of the process share, its memory pool, and its capabilities.
// Devices of the job (CudaDevice) use it, each with a stream of its own; usually there is one device for each GPU.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/device/cuda/Driver.h"

#include <memory>
#include <string>
#include <vector>

namespace spmd::cuda {

/// All members are thread-safe.
class Gpu {
public:
  /// Opens GPU number `ordinal` of those that the driver lists. Throws spmd::Error.
  Gpu(std::shared_ptr<const Driver> driver, int ordinal);
  ~Gpu();
  Gpu(const Gpu &) = delete;
  Gpu &operator=(const Gpu &) = delete;

  const Driver &getDriver() const { return *driver; }
  std::shared_ptr<const Driver> getSharedDriver() const { return driver; }
  int getOrdinal() const { return ordinal; }
  Context getContext() const { return context; }
  const std::string &getName() const { return name; } ///< `NVIDIA H100 80GB HBM3`.
  std::string getUuid() const;                        ///< `GPU-5f0c...`, as nvidia-smi writes it.
  /// 90 for compute capability 9.0.
  int getCapability() const { return capability; }
  int getMultiprocessors() const { return multiprocessors; }
  /// Without architecture-specific instructions: `sm_90`.
  std::string getArchitecture() const { return "sm_" + std::to_string(capability); }

  /// Makes this GPU current for the calling thread.
  void makeCurrent() const { driver->check(driver->CtxSetCurrent(context), "cuCtxSetCurrent"); }

  /// Returns memory that is available from this point of the stream on. Throws spmd::Error if there is none left.
  DevicePointer allocate(int64_t bytes, Stream stream) const;
  /// Frees memory when the stream has reached this point. Never throws: a context with an error has lost its memory
  /// anyway.
  void free(DevicePointer pointer, Stream stream) const noexcept;

private:
  std::shared_ptr<const Driver> driver;
  int ordinal;
  GpuHandle handle = 0;
  Context context = nullptr;
  MemoryPool pool = nullptr;
  std::string name;
  Uuid uuid{};
  int capability = 0, multiprocessors = 0;
};

} // namespace spmd::cuda
