//===- LoopStop.h - ends the loops of graphs --------------------*- C++ -*-===//
#pragma once

#include "runtime/device/cuda/Gpu.h"

namespace spmd::cuda {

/// A word that ends the loops which a GPU decides itself (GraphControl.h). It is in pinned memory of the host, which
/// the host writes directly: work on another stream might wait behind the loop, since the driver distributes streams
/// among few queues of the hardware (CUDA C++ Programming Guide, "CUDA_DEVICE_MAX_CONNECTIONS": 8 by default).
///
/// The GPU outlives it, and no loop that reads it runs when it goes.
class LoopStop {
public:
  /// The GPU is current. Throws spmd::Error.
  explicit LoopStop(const Gpu &gpu);
  ~LoopStop();
  LoopStop(const LoopStop &) = delete;
  LoopStop &operator=(const LoopStop &) = delete;

  /// For kernels: 0, or another number once loops have to end.
  DevicePointer getAddress() const { return reinterpret_cast<DevicePointer>(word); }
  bool isSet() const;
  /// Any thread may call it.
  void set(bool stops);

private:
  const Driver &driver;
  uint32_t *word = nullptr;
};

} // namespace spmd::cuda
