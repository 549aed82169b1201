//===- LocalDevices.h - creates the devices of a process --------*- C++ -*-===//
//
// The only code above the folders of runtime/device that knows which kinds of devices there are. A new platform is an
// entry of the table in LocalDevices.cpp.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/device/Device.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace spmd {

/// The devices that a process needs in its job.
struct LocalDeviceRequest {
  std::vector<int64_t> ids; ///< Their ids in the job.
  /// In the same order: numbers among the platform's devices of this machine (Device::getOrdinal). CPU devices have
  /// none.
  std::vector<int32_t> ordinals;
  int hostDeviceCount = 1; ///< Devices of the job on this host, which share its cores.
  bool sharesGpus = false; ///< See CudaDeviceOptions.
};

struct LocalDevices {
  std::vector<DeviceRef> devices;
  /// In the same order: the CPU device that serves each, whose memory collectives between processes of the host use.
  /// For a CPU device it is the device itself.
  std::vector<DeviceRef> hosts;
};

/// Creates the devices. `platform` is one of the table. Throws spmd::Error that names what is missing here.
LocalDevices createLocalDevices(std::string_view platform, const LocalDeviceRequest &request);

/// Returns whether the table has the platform.
bool isPlatform(std::string_view name);
/// Returns `cpu or cuda`, for messages.
std::string platformNames();

} // namespace spmd
