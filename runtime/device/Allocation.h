//===- Allocation.h - device memory with a description ----------*- C++ -*-===//
#pragma once

#include "runtime/device/Device.h"
#include "runtime/support/Error.h"
#include "runtime/support/OutOfMemory.h"

#include <new>

namespace spmd {

/// Allocates device memory. `describe()` returns its purpose (`the result 'y' of 'main', f32[8, 4] @ P(a, _)`). If
/// there is not enough memory, the error names the purpose, the size and a remedy; `describe` is only called then.
template <typename Describe> DeviceBufferRef allocateFor(Device &device, int64_t bytes, const Describe &describe) {
  try {
    return device.allocate(bytes);
  } catch (const Error &error) {
    throw error.withContext(std::string("memory for ") + describe());
  } catch (const std::bad_alloc &) {
    releaseMemoryReserve();
    throw Error(std::string("memory for ") + describe() + ": device " + device.str() + ": " + std::to_string(bytes) +
                " bytes were requested, but " + noMemoryText());
  }
}

} // namespace spmd
