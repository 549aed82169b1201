//===- FakeMemory.cpp - a GPU's memory on the host ------------------------===//

#include "tests/runtime/device/cuda/doubles/FakeMemory.h"

#include "tests/runtime/device/cuda/doubles/Mistakes.h"

#include <cstring>
#include <sys/mman.h>
#include <unistd.h>

namespace spmd::cuda {
namespace {

constexpr char kBeside = 0x5a;
/// A NaN in every float type.
constexpr char kNew = '\xff';
/// Alignment of the addresses that the driver returns.
constexpr int64_t kAlignment = 256;

int64_t pageBytes() { return sysconf(_SC_PAGESIZE); }

} // namespace

FakeMemory::~FakeMemory() {
  for (auto &[pointer, allocation] : allocations)
    munmap(allocation.mapping, static_cast<size_t>(allocation.mapped));
  for (auto [mapping, bytes] : freed)
    munmap(mapping, static_cast<size_t>(bytes));
}

DevicePointer FakeMemory::allocate(int gpu, int64_t bytes) {
  if (bytes > getFree(gpu))
    return 0;
  int64_t page = pageBytes();
  Allocation made;
  made.gpu = gpu;
  made.bytes = bytes;
  made.mapped = (bytes + kAlignment + page - 1) / page * page + 2 * page;
  void *mapping = mmap(nullptr, static_cast<size_t>(made.mapped), PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (mapping == MAP_FAILED)
    return 0;
  made.mapping = static_cast<char *>(mapping);
  char *begin = made.mapping + page, *end = made.mapping + made.mapped - page;
  mprotect(begin, static_cast<size_t>(end - begin), PROT_READ | PROT_WRITE);
  std::memset(begin, kBeside, static_cast<size_t>(end - begin));
  char *data = begin + (end - begin - bytes) / kAlignment * kAlignment;
  std::memset(data, kNew, static_cast<size_t>(bytes));
  used[static_cast<size_t>(gpu)] += bytes;
  auto pointer = reinterpret_cast<DevicePointer>(data);
  allocations[pointer] = made;
  return pointer;
}

bool FakeMemory::free(DevicePointer pointer) {
  auto known = allocations.find(pointer);
  if (known == allocations.end())
    return false;
  Allocation gone = known->second;
  allocations.erase(known);
  char *data = reinterpret_cast<char *>(pointer);
  char *begin = gone.mapping + pageBytes(), *end = gone.mapping + gone.mapped - pageBytes();
  for (char *at = begin; at < end; ++at) {
    if (at == data)
      at += gone.bytes;
    if (at < end && *at != kBeside) {
      reportMistake("GPU " + std::to_string(gone.gpu) + ": written at offset " + std::to_string(at - data) +
                    " of an allocation of " + std::to_string(gone.bytes) + " bytes");
      break;
    }
  }
  used[static_cast<size_t>(gone.gpu)] -= gone.bytes;
  // The pages are unmapped, the addresses stay reserved.
  mmap(gone.mapping, static_cast<size_t>(gone.mapped), PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
  freed.emplace_back(gone.mapping, gone.mapped);
  return true;
}

bool FakeMemory::contains(int gpu, DevicePointer pointer, size_t bytes) const {
  auto behind = allocations.upper_bound(pointer);
  if (behind == allocations.begin())
    return false;
  const auto &[begin, allocation] = *std::prev(behind);
  return allocation.gpu == gpu && pointer + bytes <= begin + static_cast<DevicePointer>(allocation.bytes);
}

std::vector<spmdc::GpuBuffer> FakeMemory::listBuffers(int gpu) const {
  std::vector<spmdc::GpuBuffer> buffers;
  for (const auto &[begin, allocation] : allocations)
    if (allocation.gpu == gpu)
      buffers.push_back({reinterpret_cast<const void *>(begin), static_cast<uint64_t>(allocation.bytes)});
  for (const auto &[begin, host] : pinned)
    if (host.isMapped)
      buffers.push_back({begin, host.bytes});
  return buffers;
}

bool FakeMemory::isPinned(const void *data, size_t bytes) const {
  auto behind = pinned.upper_bound(static_cast<const char *>(data));
  if (behind == pinned.begin())
    return false;
  const auto &[begin, host] = *std::prev(behind);
  return static_cast<const char *>(data) + bytes <= begin + host.bytes;
}

} // namespace spmd::cuda
