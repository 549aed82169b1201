//===- Driver.cpp - NVIDIA's driver, found at run time --------------------===//

#include "runtime/device/cuda/Driver.h"

#include "runtime/support/Error.h"

#include <dlfcn.h>

namespace spmd::cuda {

std::shared_ptr<const Driver> Driver::load(std::string *whyNot) {
  std::shared_ptr<Driver> driver(new Driver());
  std::string why = driver->open();
  if (why.empty())
    return driver;
  if (whyNot)
    *whyNot = why;
  return nullptr;
}

std::shared_ptr<const Driver> Driver::make(const DriverEntries &entries) {
  std::shared_ptr<Driver> driver(new Driver());
  static_cast<DriverEntries &>(*driver) = entries;
  driver->gpuCount = 1;
  if (driver->DriverGetVersion)
    driver->check(driver->DriverGetVersion(&driver->version), "cuDriverGetVersion");
  return driver;
}

/// Returns why the driver cannot be used, or an empty text.
std::string Driver::open() {
  // Never closed: the driver has threads of its own.
  void *handle = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
  if (!handle)
    return std::string("there is no NVIDIA driver here (") + dlerror() + ")";
#define SPMD_CUDA_ENTRY(name, symbol, ...)                                                                             \
  name = reinterpret_cast<decltype(name)>(dlsym(handle, #symbol));                                                     \
  if (!name)                                                                                                           \
    return "NVIDIA's driver lacks the function " #symbol ": CUDA 12.0 or newer is needed";
#define SPMD_CUDA_LATER_ENTRY(name, symbol, ...) name = reinterpret_cast<decltype(name)>(dlsym(handle, #symbol));
#include "runtime/device/cuda/DriverEntries.def"
#undef SPMD_CUDA_ENTRY
  if (Result result = Init(0); result == kNoDevice)
    return "NVIDIA's driver finds no GPU (CUDA_VISIBLE_DEVICES may hide them)";
  else if (result != kSuccess)
    return "NVIDIA's driver does not start: " + describe(result);
  if (Result result = DriverGetVersion(&version); result != kSuccess)
    return "NVIDIA's driver does not return its version: " + describe(result);
  if (Result result = DeviceGetCount(&gpuCount); result != kSuccess)
    return "NVIDIA's driver does not return its number of GPUs: " + describe(result);
  if (gpuCount == 0)
    return "NVIDIA's driver finds no GPU (CUDA_VISIBLE_DEVICES may hide them)";
  isLoaded = true;
  return "";
}

int Driver::readCapability(int ordinal) const {
  GpuHandle gpu = 0;
  int major = 0, minor = 0;
  check(DeviceGet(&gpu, ordinal), "cuDeviceGet");
  check(DeviceGetAttribute(&major, kCapabilityMajor, gpu), "cuDeviceGetAttribute");
  check(DeviceGetAttribute(&minor, kCapabilityMinor, gpu), "cuDeviceGetAttribute");
  return major * 10 + minor;
}

std::string Driver::describe(Result result) const {
  const char *name = nullptr, *text = nullptr;
  if (GetErrorName(result, &name) != kSuccess || !name)
    return "CUDA error " + std::to_string(result);
  if (GetErrorString(result, &text) != kSuccess || !text)
    return name;
  return std::string(name) + " (" + text + ")";
}

bool Driver::isCaptureInvalidated(Stream stream) const {
  int status = 0;
  return StreamGetCaptureInfo &&
         StreamGetCaptureInfo(stream, &status, nullptr, nullptr, nullptr, nullptr, nullptr) == kSuccess &&
         status == kCaptureInvalid;
}

void Driver::fail(Result result, const char *what) const { throw Error(std::string(what) + ": " + describe(result)); }

} // namespace spmd::cuda
