//===- Driver.h - NVIDIA's driver, found at run time ------------*- C++ -*-===//
//
// libcuda.so.1 comes with the driver of the GPU and is opened by name, so that one binary runs with or without a GPU.
// All members are thread-safe.
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
  /// Returns null if there is no driver, if it lacks a function, or if there is no GPU; `whyNot` is then one sentence
  /// with the reason. The library stays loaded.
  static std::shared_ptr<const Driver> load(std::string *whyNot = nullptr);
  /// Makes a driver of these functions, for tests without a GPU: functions that are called must not be null.
  static std::shared_ptr<const Driver> make(const DriverEntries &entries);

  /// The number of GPUs that this process may use (the driver applies CUDA_VISIBLE_DEVICES).
  int getGpuCount() const { return gpuCount; }
  /// Returns 90 for a GPU of compute capability 9.0. Needs no context. Throws spmd::Error.
  int readCapability(int ordinal) const;
  /// Whether it is the system's driver, with which NVIDIA's libraries work, and not one of `make`.
  bool isSystems() const { return isLoaded; }
  /// 13000 is CUDA 13.0.
  int getVersion() const { return version; }
  /// Whether graphs may have conditional nodes: from CUDA 12.8 on. Earlier drivers have them, too, but hang on a branch
  /// without steps (XLA's pull request 25769), and may crash where CUPTI is loaded (PyTorch's issue 134308).
  bool hasConditionalNodes() const {
    constexpr int kFirstVersion = 12080;
    return version >= kFirstVersion && StreamGetCaptureInfo && StreamUpdateCaptureDependencies &&
           StreamBeginCaptureToGraph && GraphConditionalHandleCreate && GraphAddNode;
  }

  /// Whether a call that may not be captured has invalidated what the stream captures.
  bool isCaptureInvalidated(Stream stream) const;

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
