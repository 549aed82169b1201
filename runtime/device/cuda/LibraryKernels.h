//===- LibraryKernels.h - the modules of kernels/*.cu -----------*- C++ -*-===//
#pragma once

#include "runtime/device/cuda/KernelCode.h"
#include "runtime/device/cuda/KernelSizes.h"

#include <map>
#include <mutex>

namespace spmd::cuda {

/// Loads modules into the current context at their first use. All members are thread-safe, for threads with that
/// context.
class LibraryKernels {
public:
  explicit LibraryKernels(std::shared_ptr<const Driver> driver) : driver(std::move(driver)) {}

  const Driver &getDriver() const { return *driver; }
  /// The function is valid as long as this object lives.
  Function find(const std::string &module, const std::string &symbol) const;

private:
  const std::shared_ptr<const Driver> driver;
  mutable std::mutex mutex;
  mutable std::map<std::string, std::unique_ptr<KernelCode>> modules;
  mutable std::map<std::pair<std::string, std::string>, Function> functions;
};

/// Launches kernels on one stream.
class LibraryLauncher {
public:
  LibraryLauncher(const LibraryKernels &kernels, Stream stream) : kernels(kernels), stream(stream) {}

  /// Launches `blocks` blocks of kBlockThreads threads, or nothing if that is 0. Arguments are integers and device
  /// pointers, which all have 64 bits in the kernels.
  template <typename... Arguments>
  void launch(const std::string &module, const std::string &symbol, int64_t blocks, Arguments... arguments) const {
    uint64_t words[] = {static_cast<uint64_t>(arguments)...};
    void *pointers[sizeof...(arguments)];
    for (size_t i = 0; i < sizeof...(arguments); ++i)
      pointers[i] = &words[i];
    launch(module, symbol, blocks, pointers);
  }
  /// As above, with a last argument: the number of blocks over which the kernel distributes `units` units of work; a
  /// block processes `blockUnits` at a time.
  template <typename... Arguments>
  void launchOver(int64_t units, int64_t blockUnits, const std::string &module, const std::string &symbol,
                  Arguments... arguments) const {
    int64_t blocks = std::min((units + blockUnits - 1) / blockUnits, kMostBlocks);
    launch(module, symbol, blocks, arguments..., blocks);
  }

  void copy(DevicePointer target, DevicePointer source, int64_t bytes) const;
  void fill(DevicePointer target, unsigned char value, int64_t bytes) const;

private:
  /// Enough to keep any GPU busy to the end, few enough for a grid (2^31 - 1).
  static constexpr int64_t kMostBlocks = 1 << 20;
  void launch(const std::string &module, const std::string &symbol, int64_t blocks, void **arguments) const;

  const LibraryKernels &kernels;
  const Stream stream;
};

} // namespace spmd::cuda
