//===- StreamMemory.h - memory of one stream --------------------*- C++ -*-===//
//
// All uses are in stream order, so freed memory can be reused at once, without waiting for the GPU. A request gets the
// block of its size that was freed last. So a program that is called repeatedly finds its arrays at the same addresses,
// which the graphs of its steps contain (runtime/exec/cuda/GraphCache.h).
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/device/cuda/Gpu.h"

#include <map>
#include <memory>
#include <mutex>
#include <vector>

namespace spmd::cuda {

/// All members are thread-safe.
class StreamMemory {
public:
  /// Creates the stream.
  explicit StreamMemory(std::shared_ptr<Gpu> gpu);
  ~StreamMemory();
  StreamMemory(const StreamMemory &) = delete;
  StreamMemory &operator=(const StreamMemory &) = delete;

  Stream getStream() const { return stream; }

  /// Returns memory aligned to 256 bytes, for work that is queued on the stream from now on. Throws spmd::Error if
  /// there is none left.
  DevicePointer allocate(int64_t bytes);
  /// `bytes` as in allocate; work that is queued later must not use the memory.
  void free(DevicePointer pointer, int64_t bytes) noexcept;

  int64_t bytesInUse() const;
  int64_t peakBytesInUse() const;

private:
  void release();

  std::shared_ptr<Gpu> gpu;
  Stream stream = nullptr;
  mutable std::mutex mutex;
  std::map<int64_t, std::vector<DevicePointer>> freed; ///< By size.
  int64_t inUse = 0, peak = 0;
};

} // namespace spmd::cuda
