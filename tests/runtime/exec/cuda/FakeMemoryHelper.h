//===- FakeMemoryHelper.h - a GPU's memory on the host ----------*- C++ -*-===//
//
// Each allocation ends at a page that nobody may touch, has such a page in front, and a pattern on what is left between
// them. New memory is full of NaNs. What is freed can be neither read nor written any more: an access ends the test.
//
// No member locks: FakeDriver does.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/device/cuda/DriverTypes.h"

#include <map>
#include <vector>

namespace spmd::cuda {

class FakeMemory {
public:
  FakeMemory(int gpus, int64_t bytesPerGpu) : used(static_cast<size_t>(gpus), 0), total(bytesPerGpu) {}
  ~FakeMemory();
  FakeMemory(const FakeMemory &) = delete;
  FakeMemory &operator=(const FakeMemory &) = delete;

  /// 0 where the GPU has no such memory left.
  DevicePointer allocate(int gpu, int64_t bytes);
  /// False where it is none, or was freed. A write beside it is a failure of the test.
  bool free(DevicePointer pointer);
  /// Whether a copy may touch these bytes: all in one allocation of this GPU.
  bool contains(int gpu, DevicePointer pointer, size_t bytes) const;

  int64_t getFree(int gpu) const { return total - used[static_cast<size_t>(gpu)]; }
  int64_t getTotal() const { return total; }
  size_t countAllocations() const { return allocations.size(); }

  /// Memory of the host that is pinned; what is not pinned is copied as soon as a copy is queued, as by the driver.
  void pin(const void *data, size_t bytes) { pinned[static_cast<const char *>(data)] = bytes; }
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
  std::vector<std::pair<char *, int64_t>> freed; ///< Stays inaccessible, so that no allocation comes there.
  std::map<const char *, size_t> pinned;
  std::vector<int64_t> used; ///< By GPU.
  const int64_t total;
};

} // namespace spmd::cuda
