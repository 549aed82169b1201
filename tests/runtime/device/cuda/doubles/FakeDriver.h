//===- FakeDriver.h - NVIDIA's driver without a GPU -------------*- C++ -*-===//
//
// A Driver for complete programs: GPUs whose memory is the host's (FakeMemory.h), whose streams run late
// (FakeStreams.h), and whose kernels run in the emulator of tests/passes/gpu. It is stricter than the real
// driver: a copy beyond its allocation, a call without a context, a stream of another GPU, a module that is unloaded
// while one of its kernels is queued, and all objects that exist when the driver is destroyed fail the test.
//
// Example: `FakeDriver driver({.gpus = 2}); Gpu gpu(driver.getDriver(), 1);`
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/device/cuda/Driver.h"
#include "tests/runtime/device/cuda/doubles/FakeCode.h"
#include "tests/runtime/device/cuda/doubles/FakeGraphs.h"
#include "tests/runtime/device/cuda/doubles/FakeMemory.h"
#include "tests/runtime/device/cuda/doubles/FakeStreams.h"

#include <mutex>
#include <set>
#include <string>

namespace spmd::cuda {

inline constexpr Result kInvalidValue = 1, kInvalidImage = 200, kInvalidContext = 201, kInvalidHandle = 400,
                        kNotFound = 500, kIllegalAddress = 700, kLaunchFailed = 719, kCaptureUnsupported = 900,
                        kCaptureInvalidated = 901;
inline constexpr uint64_t kMostGpus = 64;
/// Of the H100.
inline constexpr int kSharedBytesPerBlock = 227 << 10;

struct FakeDriverOptions {
  int gpus = 1;
  uint64_t seed = 1;
  int64_t bytesPerGpu = int64_t{1} << 30;
  int capability = 90;       ///< Compute capability 9.0.
  int driverVersion = 13000; ///< CUDA 13.0.
  /// The compute capability of each GPU; empty: all have `capability`.
  std::vector<int> capabilities = {};
  /// The name of this machine: its cards are other ones than those of other machines.
  std::string machine = "";
  /// The card that each GPU is; empty: in order.
  std::vector<int> cards = {};
  int queues = 8; ///< Of a GPU, for all of its streams (CUDA_DEVICE_MAX_CONNECTIONS).
};

class FakeCupti;

/// At most one exists in a process; it outlives everything that is created with its driver. Thread-safe.
class FakeDriver {
public:
  explicit FakeDriver(FakeDriverOptions options = {});
  ~FakeDriver();
  FakeDriver(const FakeDriver &) = delete;
  FakeDriver &operator=(const FakeDriver &) = delete;

  const std::shared_ptr<const Driver> &getDriver() const { return driver; }
  int countGpus() const { return options.gpus; }

  /// The `call`-th call of an entry from now on (`LaunchKernel`; 1: the next) fails with this error, on any thread.
  void failCall(const std::string &entry, int64_t call, Result error);
  /// The `number`-th kernel that runs from now on, on this GPU, accesses an illegal address: all calls of the GPU fail.
  void failKernel(int gpu, int64_t number);
  /// The `number`-th kernel that runs from now on, on this GPU, never ends.
  void hangKernel(int gpu, int64_t number);
  /// Returns the number of calls of an entry so far.
  int64_t countCalls(const std::string &entry) const;
  /// Returns the number of kernels that have run so far, from graphs or not.
  int64_t countKernels() const;

private:
  friend struct FakeEntries;
  friend class FakeNccl;
  friend struct FakeNcclEntries;
  friend class FakeCupti;
  struct LoadedModule {
    bool isLoaded = true;
    std::shared_ptr<spmdc::GpuEmulator> emulator;
    std::map<std::string, Function> functions;
  };
  struct LoadedFunction {
    std::shared_ptr<LoadedModule> module;
    std::string symbol;
    int64_t argumentCount = 0;
    int64_t mostSharedBytes = 48 << 10; ///< That a launch may request; cuFuncSetAttribute raises it.
  };
  struct LaunchSize {
    int64_t blocks = 0;
    int32_t threads = 0;
    int64_t sharedBytes = 0;
  };

  /// Tells CUPTI of a call, of this kind of records; one of a thread of NVIDIA's own is in no region.
  void noteCall(uint32_t kind, bool isInRegion = true);
  /// Queues work for which CUPTI makes a record of this kind.
  void queueWork(FakeStream &stream, uint32_t kind, FakeWork work);
  Result launch(FakeStream &stream, const LoadedFunction &function, LaunchSize size, void **arguments);
  bool runKernel(int gpu, const LoadedFunction &function, LaunchSize size, const std::vector<void *> &words);
  spmdc::ThreadOrder drawOrder();

  const FakeDriverOptions options;
  std::shared_ptr<const Driver> driver;

  mutable std::mutex mutex;   ///< Guards all members below.
  FakeCupti *cupti = nullptr; ///< Null: nothing records.
  FakeStreams streams;
  FakeMemory memory;
  std::map<Module, std::shared_ptr<LoadedModule>> modules;
  std::map<Function, LoadedFunction> functions;
  std::map<Graph, std::shared_ptr<FakeGraph>> graphs; ///< Those that callers destroy.
  std::map<GraphExec, std::shared_ptr<FakeGraph>> graphExecs;
  FakeConditions conditions;
  std::multiset<int> retained; ///< Retained contexts, by GPU.
  uint64_t nextHandle = 1;
  std::map<std::string, int64_t> calls;
  std::map<std::string, std::map<int64_t, Result>> failures; ///< By the number of the call.
  int64_t kernels = 0;
  std::vector<int64_t> kernelsToFailure, kernelsToHang; ///< By GPU; 0: no kernel fails.
};

} // namespace spmd::cuda
