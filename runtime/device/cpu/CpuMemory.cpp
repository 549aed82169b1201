//===- CpuMemory.cpp - the memory of one CPU device -----------------------===//

#include "runtime/device/cpu/CpuMemory.h"
#include "runtime/support/Error.h"

#include <algorithm>
#include <fstream>

namespace spmd {
namespace {

constexpr int64_t lineBytes = 64;
constexpr int64_t pageBytes = 4096;
/// Blocks from this size on start on a page of their own, so that their pages can be returned to the kernel.
constexpr int64_t largeBytes = 64 << 10;
/// Address space only; pages are allocated at first access.
constexpr int64_t segmentBytes = int64_t(1) << 30;
/// Free memory that may keep its pages, in addition to as much as is in use.
constexpr int64_t warmBytes = int64_t(256) << 20;
/// Requests from this size on are compared with the machine's free memory: a clear error instead of a killed process.
constexpr int64_t checkedBytes = int64_t(64) << 20;

int64_t roundUp(int64_t value, int64_t to) { return (value + to - 1) / to * to; }

/// Returns the memory that the kernel reports as available, or -1.
int64_t availableBytes() {
  std::ifstream file("/proc/meminfo");
  std::string key, unit;
  int64_t value = 0;
  while (file >> key >> value) {
    if (key == "MemAvailable:")
      return value * 1024;
    std::getline(file, unit);
  }
  return -1;
}

} // namespace

int32_t CpuMemory::addSegment(int64_t bytes) {
  auto create = [&](int64_t size) {
    return isShared ? Segment::create("spmd-device-" + std::to_string(deviceId), size) : Segment::createPrivate(size);
  };
  std::shared_ptr<Segment> segment;
  try {
    segment = create(std::max(segmentBytes, roundUp(bytes, pageBytes)));
  } catch (const Error &) {
    // Address space may be limited, so the fallback requests no more than is needed.
    segment = create(roundUp(bytes, pageBytes));
  }
  auto index = static_cast<int32_t>(areas.size());
  areas.push_back({segment, {{0, {segment->bytes(), true}}}});
  freeBlocks.insert({segment->bytes(), index, 0});
  return index;
}

void *CpuMemory::allocate(int64_t bytes) {
  int64_t wanted = roundUp(std::max<int64_t>(bytes, 1), lineBytes);
  if (wanted >= largeBytes)
    wanted = roundUp(wanted, pageBytes);
  std::lock_guard lock(mutex);
  if (wanted >= checkedBytes) {
    int64_t available = availableBytes();
    if (available >= 0 && wanted > available + warmFree)
      throw Error("device cpu:" + std::to_string(deviceId) + ": " + std::to_string(bytes) +
                  " bytes were requested, but this host has only " + std::to_string(available) +
                  " bytes of memory left; use more hosts, a finer sharding or a smaller program");
  }
  int64_t alignment = wanted >= largeBytes ? pageBytes : lineBytes;
  auto fit = freeBlocks.lower_bound({wanted, 0, 0});
  // A free block that begins within a page may be too short after its start is aligned.
  auto fits = [&](const FreeKey &key) {
    auto [size, area, offset] = key;
    return offset + size >= roundUp(offset, alignment) + wanted;
  };
  while (fit != freeBlocks.end() && !fits(*fit))
    ++fit;
  if (fit == freeBlocks.end()) {
    int32_t index = addSegment(wanted);
    fit = freeBlocks.find({areas[index].segment->bytes(), index, 0});
  }
  auto [size, index, offset] = *fit;
  freeBlocks.erase(fit);
  Area &area = areas[index];
  int64_t start = roundUp(offset, alignment);
  area.blocks.erase(offset);
  if (start > offset) {
    area.blocks[offset] = {start - offset, true};
    freeBlocks.insert({start - offset, index, offset});
  }
  area.blocks[start] = {wanted, false};
  int64_t end = start + wanted;
  if (end < offset + size) {
    area.blocks[end] = {offset + size - end, true};
    freeBlocks.insert({offset + size - end, index, end});
  }
  inUse += wanted;
  peak = std::max(peak, inUse);
  warmFree = std::max<int64_t>(0, warmFree - wanted);
  return area.segment->data() + start;
}

void CpuMemory::free(void *pointer) {
  std::lock_guard lock(mutex);
  for (int32_t index = 0; index < static_cast<int32_t>(areas.size()); ++index) {
    Area &area = areas[index];
    if (!area.segment->contains(pointer, 0))
      continue;
    auto block = area.blocks.find(static_cast<char *>(pointer) - area.segment->data());
    if (block == area.blocks.end() || block->second.isFree)
      continue;
    inUse -= block->second.bytes;
    warmFree += block->second.bytes;
    if (block->second.bytes >= largeBytes && warmFree > warmBytes + inUse)
      releasePages(area, block->first, block->second.bytes);
    block->second.isFree = true;
    if (auto next = std::next(block); next != area.blocks.end() && next->second.isFree) {
      freeBlocks.erase({next->second.bytes, index, next->first});
      block->second.bytes += next->second.bytes;
      area.blocks.erase(next);
    }
    if (block != area.blocks.begin()) {
      if (auto previous = std::prev(block); previous->second.isFree) {
        freeBlocks.erase({previous->second.bytes, index, previous->first});
        previous->second.bytes += block->second.bytes;
        area.blocks.erase(block);
        block = previous;
      }
    }
    freeBlocks.insert({block->second.bytes, index, block->first});
    return;
  }
}

void CpuMemory::releasePages(Area &area, int64_t offset, int64_t bytes) {
  if (area.segment->releasePages(offset, bytes))
    warmFree -= bytes;
}

std::optional<MemoryLocation> CpuMemory::locate(const void *pointer, int64_t bytes) const {
  std::lock_guard lock(mutex);
  for (int32_t index = 0; index < static_cast<int32_t>(areas.size()); ++index)
    if (areas[index].segment->contains(pointer, bytes))
      return MemoryLocation{index, static_cast<const char *>(pointer) - areas[index].segment->data()};
  return std::nullopt;
}

std::shared_ptr<Segment> CpuMemory::getSegment(int32_t index) const {
  std::lock_guard lock(mutex);
  return index >= 0 && index < static_cast<int32_t>(areas.size()) ? areas[index].segment : nullptr;
}

int64_t CpuMemory::bytesInUse() const {
  std::lock_guard lock(mutex);
  return inUse;
}

int64_t CpuMemory::peakBytesInUse() const {
  std::lock_guard lock(mutex);
  return peak;
}

int64_t CpuMemory::segmentCount() const {
  std::lock_guard lock(mutex);
  return static_cast<int64_t>(areas.size());
}

} // namespace spmd
