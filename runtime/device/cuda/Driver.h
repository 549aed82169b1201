//===- Driver.h - NVIDIA's driver, found at run time ------------*- C++ -*-===//
//
// libcuda.so.1 comes with the driver of the card and is opened by name, so that one binary runs with or without a GPU.
// All members may be used from any thread.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/device/cuda/DriverTypes.h"

#include <memory>
#include <string>

namespace spmd::cuda {

/// The functions of DriverEntries.def.
struct DriverEntries {
#define SPMD_CUDA_ENTRY(name, symbol, ...) Result (*name)(__VA_ARGS__) = nullptr;
#include "runtime/device/cuda/DriverEntries.def"
#undef SPMD_CUDA_ENTRY
};

class Driver : public DriverEntries {
public:
  /// Null where there is no driver, or none that has all functions, or no GPU; `whyNot` is then one sentence that says
  /// so. The library stays loaded.
  static std::shared_ptr<const Driver> load(std::string *whyNot = nullptr);
  /// A driver with these functions, for tests without a GPU: the functions that are called must be there.
  static std::shared_ptr<const Driver> make(const DriverEntries &entries);

  /// The GPUs that this process may use (CUDA_VISIBLE_DEVICES is heeded by the driver).
  int getGpuCount() const { return gpuCount; }
  /// Whether it is the system's driver, which NVIDIA's libraries work on, and not one of `make`.
  bool isSystems() const { return isLoaded; }
  /// 13000 is CUDA 13.0.
  int getVersion() const { return version; }

  /// Throws spmd::Error `what: CUDA_ERROR_... (text)` unless the result is success.
  void check(Result result, const char *what) const {
    if (result != kSuccess)
      fail(result, what);
  }
  /// `CUDA_ERROR_ILLEGAL_ADDRESS (an illegal memory access was encountered)`.
  std::string describe(Result result) const;

private:
  Driver() = default;
  [[noreturn]] void fail(Result result, const char *what) const;
  std::string open();

  int gpuCount = 0, version = 0;
  bool isLoaded = false;
};

} // namespace spmd::cuda
