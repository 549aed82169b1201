//===- CpuMemory.h - the memory of one CPU device ---------------*- C++ -*-===//
//
// A best-fit allocator over few large segments. Freed memory keeps its pages, so that the next call of a program
// finds them mapped (the first access to a page costs as much as several passes over it). Free memory beyond a limit is
// returned to the kernel.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/device/cpu/Segment.h"

#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <vector>

namespace spmd {

/// The location of a range of device memory, as other processes find it.
struct MemoryLocation {
  int32_t segment = 0;
  int64_t offset = 0;
};

class CpuMemory {
public:
  /// `isShared`: other processes of this host may map the memory.
  explicit CpuMemory(int64_t deviceId, bool isShared = true) : deviceId(deviceId), isShared(isShared) {}

  /// Returns 64-byte aligned memory, never null. Throws spmd::Error.
  void *allocate(int64_t bytes);
  void free(void *pointer);

  /// Returns the location of this memory if it belongs to this device.
  std::optional<MemoryLocation> locate(const void *pointer, int64_t bytes) const;
  std::shared_ptr<Segment> getSegment(int32_t index) const;

  int64_t bytesInUse() const;
  int64_t peakBytesInUse() const;
  int64_t segmentCount() const;

private:
  struct Block {
    int64_t bytes = 0;
    bool isFree = false;
  };
  struct Area {
    std::shared_ptr<Segment> segment;
    std::map<int64_t, Block> blocks; ///< By offset; the blocks cover the segment.
  };
  /// (bytes, segment, offset) of every free block.
  using FreeKey = std::tuple<int64_t, int32_t, int64_t>;

  int32_t addSegment(int64_t bytes);
  void releasePages(Area &area, int64_t offset, int64_t bytes);

  const int64_t deviceId;
  const bool isShared;
  mutable std::mutex mutex;
  std::vector<Area> areas;
  std::set<FreeKey> freeBlocks;
  int64_t inUse = 0, peak = 0;
  int64_t warmFree = 0; ///< Free bytes that may still have pages.
};

} // namespace spmd
