//===- EmulatedDriverHelper.h - NVIDIA's driver without a GPU ---*- C++ -*-===//
//
// A Driver whose device memory is this process's, and whose kernels run in the emulator of tests/passes/gpu when they
// are launched: host code that launches kernels is tested as it is. It knows the library's kernels alone: their PTX is
// recognized, and the LLVM IR that it was made of runs.
//
// Only what a call may do while a stream is captured is there: loading modules, launches, copies and fills on the
// device. Whatever waits or allocates is a null pointer, and ends the test.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/device/cuda/Driver.h"
#include "tests/passes/gpu/GpuEmulatorHelper.h"

#include <span>
#include <string>
#include <vector>

namespace spmd::cuda {

/// One at a time in a process.
class EmulatedDriver {
public:
  EmulatedDriver();
  ~EmulatedDriver();

  const std::shared_ptr<const Driver> &getDriver() const { return driver; }
  /// In which order the next launches run their blocks and threads.
  void setOrder(spmdc::ThreadOrder order);
  /// Kernels that were launched since the last call, in order.
  std::vector<std::string> takeLaunches();

private:
  std::shared_ptr<const Driver> driver;
};

/// Device memory whose end is the end of a page, so that an access beyond it ends the test, and whose start is checked
/// when it is destroyed.
class DeviceArray {
public:
  explicit DeviceArray(int64_t bytes);
  DeviceArray(const void *data, int64_t bytes);
  ~DeviceArray();
  DeviceArray(const DeviceArray &) = delete;
  DeviceArray &operator=(const DeviceArray &) = delete;

  DevicePointer address() const { return reinterpret_cast<DevicePointer>(data); }
  char *get() const { return data; }
  std::vector<char> bytes() const { return {data, data + size}; }

private:
  char *mapping = nullptr, *data = nullptr;
  int64_t size, mapped;
};

} // namespace spmd::cuda
