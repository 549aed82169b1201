//===- StreamMemory.h - the memory that one stream uses ---------*- C++ -*-===//
//
// All use of it is in the order of the stream, so what is freed can be given out again at once, without waiting for the
// GPU. A size gets the block of that size that was freed last: then a program that is called again and again finds its
// arrays at the same addresses, which the graphs of its steps hold (runtime/exec/cuda/GraphCache.h).
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/device/cuda/Gpu.h"

#include <map>
#include <memory>
#include <mutex>
#include <vector>

namespace spmd::cuda {

/// All members may be used from any thread.
class StreamMemory {
public:
  /// Makes the stream.
  explicit StreamMemory(std::shared_ptr<Gpu> gpu);
  ~StreamMemory();
  StreamMemory(const StreamMemory &) = delete;
  StreamMemory &operator=(const StreamMemory &) = delete;

  Stream getStream() const { return stream; }

  /// Aligned to 256 bytes; for what is queued on the stream from now on. Throws spmd::Error where there is none left.
  DevicePointer allocate(int64_t bytes);
  /// `bytes` as it was allocated; nothing that is queued later may use it.
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
