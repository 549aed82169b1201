//===- FakeMemory.h - a GPU's memory on the host ----------------*- C++ -*-===//
//
// Each allocation has an inaccessible page after its end and one before its start, and a pattern in the rest between
// them. New memory is full of NaNs. An access to freed memory ends the test.
//
// No member locks: FakeDriver does.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/device/cuda/DriverTypes.h"
#include "tests/passes/gpu/emulator/GpuMemoryHelper.h"

#include <map>
#include <vector>

namespace spmd::cuda {

class FakeMemory {
public:
  FakeMemory(int gpus, int64_t bytesPerGpu) : used(static_cast<size_t>(gpus), 0), total(bytesPerGpu) {}
  ~FakeMemory();
  FakeMemory(const FakeMemory &) = delete;
  FakeMemory &operator=(const FakeMemory &) = delete;

  /// Returns 0 if the GPU does not have that much memory left.
  DevicePointer allocate(int gpu, int64_t bytes);
  /// Returns false if it is not an allocation, or was freed. A write beside the allocation fails the test.
  bool free(DevicePointer pointer);
  /// Whether a copy may access these bytes: they must be in one allocation of this GPU.
  bool contains(int gpu, DevicePointer pointer, size_t bytes) const;
  /// Returns the memory that a kernel of this GPU may access.
  std::vector<spmdc::GpuBuffer> listBuffers(int gpu) const;

  int64_t getFree(int gpu) const { return total - used[static_cast<size_t>(gpu)]; }
  int64_t getTotal() const { return total; }
  size_t countAllocations() const { return allocations.size(); }

  /// Pinned host memory; from other memory a copy reads at once when it is queued, like the driver. `isMapped`: kernels
  /// may access it at the same address.
  void pin(const void *data, size_t bytes, bool isMapped) {
    pinned[static_cast<const char *>(data)] = {bytes, isMapped};
  }
  bool unpin(const void *data) { return pinned.erase(static_cast<const char *>(data)) == 1; }
  bool isPinned(const void *data, size_t bytes) const;
  size_t countPinned() const { return pinned.size(); }

private:
  struct Allocation {
    int gpu = 0;
    int64_t bytes = 0, mapped = 0;
    char *mapping = nullptr;
  };
  std::map<DevicePointer, Allocation> allocations;
  std::vector<std::pair<char *, int64_t>> freed; ///< Stays inaccessible, so that no allocation gets the same addresses.
  struct Pinned {
    size_t bytes = 0;
    bool isMapped = false;
  };
  std::map<const char *, Pinned> pinned;
  std::vector<int64_t> used; ///< By GPU.
  const int64_t total;
};

} // namespace spmd::cuda
