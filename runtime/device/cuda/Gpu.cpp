//===- Gpu.cpp - one GPU of this process ----------------------------------===//

#include "runtime/device/cuda/Gpu.h"

#include "runtime/support/Error.h"

#include <array>

namespace spmd::cuda {
namespace {

/// For errors about missing memory: how much is free.
std::string memoryText(const Driver &driver) {
  size_t free = 0, total = 0;
  if (driver.MemGetInfo(&free, &total) != kSuccess)
    return "";
  return "; " + std::to_string(free) + " of " + std::to_string(total) + " bytes are free";
}

} // namespace

Gpu::Gpu(std::shared_ptr<const Driver> given, int ordinal) : driver(std::move(given)), ordinal(ordinal) {
  driver->check(driver->DeviceGet(&handle, ordinal), "cuDeviceGet");
  std::array<char, 256> text{};
  driver->check(driver->DeviceGetName(text.data(), static_cast<int>(text.size()) - 1, handle), "cuDeviceGetName");
  name = text.data();
  driver->check(driver->DeviceGetUuid(&uuid, handle), "cuDeviceGetUuid");
  auto attribute = [&](int number) {
    int value = 0;
    driver->check(driver->DeviceGetAttribute(&value, number, handle), "cuDeviceGetAttribute");
    return value;
  };
  capability = driver->readCapability(ordinal);
  multiprocessors = attribute(kMultiprocessorCount);
  if (attribute(kMemoryPoolsSupported) == 0)
    throw Error("GPU " + std::to_string(ordinal) + " (" + name + ") has no memory pools: it or its driver is too old");
  driver->check(driver->DevicePrimaryCtxRetain(&context, handle), "cuDevicePrimaryCtxRetain");
  makeCurrent();
  driver->check(driver->DeviceGetDefaultMemPool(&pool, handle), "cuDeviceGetDefaultMemPool");
  // Freed memory stays with this process: allocating it from the driver again costs more than a small step.
  uint64_t threshold = UINT64_MAX;
  driver->check(driver->MemPoolSetAttribute(pool, kPoolReleaseThreshold, &threshold), "cuMemPoolSetAttribute");
}

Gpu::~Gpu() { driver->DevicePrimaryCtxRelease(handle); }

std::string Gpu::getUuid() const {
  std::string text = "GPU-";
  for (size_t i = 0; i < uuid.bytes.size(); ++i) {
    constexpr const char *digits = "0123456789abcdef";
    if (i == 4 || i == 6 || i == 8 || i == 10)
      text += '-';
    text += digits[uuid.bytes[i] >> 4];
    text += digits[uuid.bytes[i] & 15];
  }
  return text;
}

DevicePointer Gpu::allocate(int64_t bytes, Stream stream) const {
  makeCurrent();
  DevicePointer pointer = 0;
  auto size = static_cast<size_t>(bytes > 0 ? bytes : 1); // No array is at address 0.
  Result result = driver->MemAllocFromPoolAsync(&pointer, size, pool, stream);
  if (result == kOutOfMemory) {
    // The free memory of the pool may be fragmented: return it to the driver, and allocate again.
    driver->check(driver->StreamSynchronize(stream), "cuStreamSynchronize");
    driver->check(driver->MemPoolTrimTo(pool, 0), "cuMemPoolTrimTo");
    result = driver->MemAllocFromPoolAsync(&pointer, size, pool, stream);
  }
  if (result == kOutOfMemory)
    throw Error("GPU " + std::to_string(ordinal) + " (" + name + ") has no " + std::to_string(bytes) +
                " bytes of memory left" + memoryText(*driver) +
                "; use smaller shards (more devices), or free arrays that are not needed");
  driver->check(result, "cuMemAllocFromPoolAsync");
  return pointer;
}

void Gpu::free(DevicePointer pointer, Stream stream) const noexcept {
  if (driver->CtxSetCurrent(context) == kSuccess)
    driver->MemFreeAsync(pointer, stream);
}

} // namespace spmd::cuda
