//===- StreamMemory.cpp - memory of one stream ----------------------------===//

#include "runtime/device/cuda/StreamMemory.h"

#include "runtime/support/Error.h"

#include <algorithm>
#include <new>

namespace spmd::cuda {
namespace {

/// Block sizes are multiples of it: the driver aligns to it anyway, and sizes that differ a little share blocks.
constexpr int64_t kGranule = 512;

int64_t blockBytes(int64_t bytes) { return std::max<int64_t>(1, (bytes + kGranule - 1) / kGranule) * kGranule; }

} // namespace

StreamMemory::StreamMemory(std::shared_ptr<Gpu> given) : gpu(std::move(given)) {
  gpu->makeCurrent();
  gpu->getDriver().check(gpu->getDriver().StreamCreate(&stream, kStreamNonBlocking), "cuStreamCreate");
}

StreamMemory::~StreamMemory() {
  try {
    gpu->makeCurrent();
    release();
    gpu->getDriver().StreamDestroy(stream);
  } catch (const Error &) {
    // A context with an error has lost its memory anyway.
  }
}

void StreamMemory::release() {
  for (auto &[size, blocks] : freed)
    for (DevicePointer block : blocks)
      gpu->free(block, stream);
  freed.clear();
}

DevicePointer StreamMemory::allocate(int64_t bytes) {
  int64_t size = blockBytes(bytes);
  std::lock_guard lock(mutex);
  DevicePointer pointer = 0;
  if (auto known = freed.find(size); known != freed.end() && !known->second.empty()) {
    pointer = known->second.back();
    known->second.pop_back();
  } else {
    try {
      pointer = gpu->allocate(size, stream);
    } catch (const Error &) {
      if (freed.empty())
        throw;
      release(); // Frees blocks of other sizes, then tries again.
      pointer = gpu->allocate(size, stream);
    }
  }
  inUse += size;
  peak = std::max(peak, inUse);
  return pointer;
}

void StreamMemory::free(DevicePointer pointer, int64_t bytes) noexcept {
  int64_t size = blockBytes(bytes);
  std::lock_guard lock(mutex);
  inUse -= size;
  try {
    freed[size].push_back(pointer);
  } catch (const std::bad_alloc &) {
    gpu->free(pointer, stream);
  }
}

int64_t StreamMemory::bytesInUse() const {
  std::lock_guard lock(mutex);
  return inUse;
}

int64_t StreamMemory::peakBytesInUse() const {
  std::lock_guard lock(mutex);
  return peak;
}

} // namespace spmd::cuda
