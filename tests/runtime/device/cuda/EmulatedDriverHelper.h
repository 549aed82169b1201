//===- EmulatedDriverHelper.h - NVIDIA's driver without a GPU ---*- C++ -*-===//
//
// A Driver whose device memory is this process's, and whose kernels run in the emulator of tests/passes/gpu when they
// are launched: host code that launches kernels is tested unchanged. Kernels may access the arrays that exist
// (DeviceArray); those have guards for host code, too.
//
// It only implements calls that are allowed while a stream is captured: loading modules, launches, copies and fills on
// the device. Functions that wait or allocate are null pointers, and end the test.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/device/cuda/Driver.h"
#include "tests/passes/gpu/emulator/GpuEmulatorHelper.h"

#include <span>
#include <string>
#include <vector>

namespace spmd::cuda {

/// At most one exists in a process.
class EmulatedDriver {
public:
  EmulatedDriver();
  ~EmulatedDriver();

  const std::shared_ptr<const Driver> &getDriver() const { return driver; }
  /// Sets the order in which the next launches run their blocks and threads.
  void setOrder(spmdc::ThreadOrder order);
  /// Returns the kernels that were launched since the last call, in order.
  std::vector<std::string> takeLaunches();

private:
  std::shared_ptr<const Driver> driver;
};

/// Device memory that ends at the end of a page, so that an access beyond it ends the test. The memory before its start
/// is checked in the destructor.
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
