//===- Allocation.h - device memory for something ---------------*- C++ -*-===//
#pragma once

#include "runtime/device/Device.h"
#include "runtime/support/Error.h"
#include "runtime/support/OutOfMemory.h"

#include <new>

namespace spmd {

/// Memory of the device for what `describe()` says (`the result 'y' of 'main', f32[8, 4] @ P(a, _)`): where there is
/// not enough, the error says it, with its size and what to do. `describe` is called in that case alone.
template <typename Describe> DeviceBufferRef allocateFor(Device &device, int64_t bytes, const Describe &describe) {
  try {
    return device.allocate(bytes);
  } catch (const Error &error) {
    throw error.withContext(std::string("memory for ") + describe());
  } catch (const std::bad_alloc &) {
    releaseMemoryReserve();
    throw Error(std::string("memory for ") + describe() + ": device " + device.str() + ": " + std::to_string(bytes) +
                " bytes were asked for, but " + noMemoryText());
  }
}

} // namespace spmd
