//===- CpuDevice.h - a share of this host's cores as a device ---*- C++ -*-===//
//
// A CPU device is one thread (and its pool for parallel loops, where its share of the cores is more than one) and
// memory in sealed memfds, which other processes of the host map to read its buffers directly.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/device/Device.h"

#include <optional>
#include <vector>

namespace spmd {

class CpuDevice;

struct CpuDeviceOptions {
  /// Devices of the whole job on this host: what the cores are shared by.
  int hostDeviceCount = 1;
  /// Threads of each device; 0: cores this process may use / hostDeviceCount, at least 1.
  int threadsPerDevice = 0;
};

/// The CPU devices of this process, with these ids.
std::vector<DeviceRef> createCpuDevices(const std::vector<int64_t> &ids, const CpuDeviceOptions &options);

/// How many threads a device gets with these options.
int threadsPerCpuDevice(const CpuDeviceOptions &options);

} // namespace spmd
