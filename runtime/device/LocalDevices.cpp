//===- LocalDevices.cpp - creates the devices of a process ----------------===//

#include "runtime/device/LocalDevices.h"

#include "runtime/device/cpu/CpuDevice.h"
#include "runtime/device/cuda/CudaDevice.h"
#include "runtime/support/Error.h"

namespace spmd {
namespace {

CpuDeviceOptions cpuOptions(const LocalDeviceRequest &request) {
  return {.hostDeviceCount = request.hostDeviceCount,
          .isShared = request.hostDeviceCount > static_cast<int>(request.ids.size())};
}

LocalDevices createCpu(const LocalDeviceRequest &request) {
  std::vector<DeviceRef> devices = createCpuDevices(request.ids, cpuOptions(request));
  return {devices, devices};
}

LocalDevices createCuda(const LocalDeviceRequest &request) {
  LocalDevices made;
  made.devices = createCudaDevices(request.ids, request.ordinals, {cpuOptions(request), request.sharesGpus});
  for (const DeviceRef &device : made.devices)
    made.hosts.push_back(static_cast<CudaDevice &>(*device).getHost());
  return made;
}

struct Entry {
  std::string_view name;
  LocalDevices (*create)(const LocalDeviceRequest &);
};
constexpr Entry kPlatforms[] = {{"cpu", createCpu}, {"cuda", createCuda}};

} // namespace

LocalDevices createLocalDevices(std::string_view platform, const LocalDeviceRequest &request) {
  for (const Entry &entry : kPlatforms)
    if (entry.name == platform)
      return entry.create(request);
  throw Error("there are no devices of the platform '" + std::string(platform) + "'; give " + platformNames());
}

bool isPlatform(std::string_view name) {
  for (const Entry &entry : kPlatforms)
    if (entry.name == name)
      return true;
  return false;
}

std::string platformNames() {
  std::string names;
  for (const Entry &entry : kPlatforms)
    names += (names.empty() ? "" : " or ") + std::string(entry.name);
  return names;
}

} // namespace spmd
