//===- FakeDriverHelper.h - all of NVIDIA's driver, without a GPU -*- C++ -*-===//
//
// A Driver for whole programs: GPUs whose memory is the host's (FakeMemoryHelper.h), whose streams run late
// (FakeStreamsHelper.h), and whose kernels run in the emulator of tests/passes/gpu. It is strict where the real one may
// forgive: a copy that leaves its allocation, a call without a context, a stream of another GPU, a module that is
// unloaded while a kernel of it is queued, and all that is left when the driver goes are failures of the test.
//
// Example: `FakeDriver driver({.gpus = 2}); Gpu gpu(driver.getDriver(), 1);`
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/device/cuda/Driver.h"
#include "tests/runtime/exec/cuda/FakeCodeHelper.h"
#include "tests/runtime/exec/cuda/FakeMemoryHelper.h"
#include "tests/runtime/exec/cuda/FakeStreamsHelper.h"

#include <mutex>
#include <set>
#include <string>

namespace spmd::cuda {

inline constexpr Result kInvalidValue = 1, kInvalidImage = 200, kInvalidContext = 201, kInvalidHandle = 400,
                        kNotFound = 500, kIllegalAddress = 700, kLaunchFailed = 719, kCaptureUnsupported = 900,
                        kCaptureInvalidated = 901;

struct FakeDriverOptions {
  int gpus = 1;
  uint64_t seed = 1;
  int64_t bytesPerGpu = int64_t{1} << 30;
};

/// One at a time in a process; it outlives everything that is made with its driver. May be used from any thread.
class FakeDriver {
public:
  explicit FakeDriver(FakeDriverOptions options = {});
  ~FakeDriver();
  FakeDriver(const FakeDriver &) = delete;
  FakeDriver &operator=(const FakeDriver &) = delete;

  const std::shared_ptr<const Driver> &getDriver() const { return driver; }

  /// What to run for this PTX.
  void addCode(const std::string &ptx, const std::string &llvmText);

  /// The `call`-th call of an entry from now on (`LaunchKernel`; 1: the next) fails with this error, on any thread.
  void failCall(const std::string &entry, int64_t call, Result error);
  /// The `number`-th kernel that runs from now on, on this GPU, meets an illegal address: all of the GPU's calls fail.
  void failKernel(int gpu, int64_t number);
  /// Calls of an entry so far.
  int64_t countCalls(const std::string &entry) const;
  /// Kernels that have run so far, from graphs or not.
  int64_t countKernels() const;

private:
  friend struct FakeEntries;
  friend class FakeNccl;
  friend struct FakeNcclEntries;
  struct LoadedModule {
    bool isLoaded = true;
    std::shared_ptr<spmdc::GpuEmulator> emulator;
    std::map<std::string, Function> functions;
  };
  struct LoadedFunction {
    std::shared_ptr<LoadedModule> module;
    std::string symbol;
    int64_t argumentCount = 0;
  };

  Result launch(FakeStream &stream, const LoadedFunction &function, int64_t blocks, int32_t threads, void **arguments);
  bool runKernel(int gpu, const LoadedFunction &function, int64_t blocks, int32_t threads,
                 const std::vector<void *> &words);
  spmdc::ThreadOrder drawOrder();

  const FakeDriverOptions options;
  std::shared_ptr<const Driver> driver;

  mutable std::mutex mutex; ///< Of all that follows.
  FakeStreams streams;
  FakeMemory memory;
  FakeCode code;
  std::map<Module, std::shared_ptr<LoadedModule>> modules;
  std::map<Function, LoadedFunction> functions;
  std::map<Graph, std::vector<FakeWork>> graphs;
  std::map<GraphExec, std::vector<FakeWork>> graphExecs;
  std::multiset<int> retained; ///< Contexts, by GPU.
  uint64_t nextHandle = 1;
  std::map<std::string, int64_t> calls;
  std::map<std::string, std::map<int64_t, Result>> failures; ///< By the number of the call.
  int64_t kernels = 0;
  std::vector<int64_t> kernelsToFailure; ///< By GPU; 0: none fails.
};

} // namespace spmd::cuda
