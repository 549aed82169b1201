//===- DeviceBuffers.h - device code that backends share --------*- C++ -*-===//
#pragma once

#include "runtime/device/Device.h"
#include "runtime/support/Error.h"

namespace spmd {

/// Memory of another owner, which the buffer keeps alive (Device::adopt).
class AdoptedBuffer final : public DeviceBuffer {
public:
  AdoptedBuffer(void *data, int64_t bytes, std::shared_ptr<void> owner)
      : DeviceBuffer(data, bytes), owner(std::move(owner)) {}

private:
  std::shared_ptr<void> owner;
};

/// Throws spmd::Error if a copy of so many bytes at that offset does not fit into the buffer.
inline void checkRange(const Device &device, const DeviceBuffer &buffer, int64_t offset, int64_t bytes) {
  if (offset < 0 || bytes < 0 || offset + bytes > buffer.bytes())
    throw Error(device.str() + ": a copy of " + std::to_string(bytes) + " bytes at offset " + std::to_string(offset) +
                " does not fit into a buffer of " + std::to_string(buffer.bytes()) + " bytes");
}

} // namespace spmd
