//===- GpuMemoryHelper.cpp - memory that emulated kernels may access ------===//

#include "tests/passes/gpu/emulator/GpuMemoryHelper.h"

#include "tests/passes/gpu/emulator/GpuThreadsHelper.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringRef.h"

#include <algorithm>
#include <cstring>

namespace spmdc {

char *GpuMemory::addVariable(uint64_t bytes, uint64_t alignment, const std::vector<uint8_t> &content) {
  uint64_t unit = std::max<uint64_t>(alignment, 16), size = (std::max<uint64_t>(bytes, 1) + unit - 1) / unit * unit;
  auto *begin = static_cast<char *>(std::aligned_alloc(unit, size));
  std::memset(begin, 0, size);
  std::copy(content.begin(), content.end(), begin);
  variableMemory.emplace_back(begin, &std::free);
  variables.push_back({begin, bytes});
  return begin;
}

void GpuMemory::setBuffers(const std::vector<GpuBuffer> &launchBuffers) {
  buffers = launchBuffers;
  hasBuffers = !launchBuffers.empty();
  buffers.insert(buffers.end(), variables.begin(), variables.end());
  for (Site &site : sites)
    *site.recent = site.found = {};
}

bool GpuMemory::find(uint64_t address, uint64_t bytes, Recent *recent) const {
  Recent found{0, UINT64_MAX};
  if (hasBuffers) {
    auto contains = [&](const GpuBuffer &buffer) {
      uint64_t distance = address - reinterpret_cast<uint64_t>(buffer.begin);
      return distance <= buffer.bytes && buffer.bytes - distance >= bytes;
    };
    auto known = std::find_if(buffers.begin(), buffers.end(), contains);
    if (known == buffers.end())
      return GpuBlock::isOnStack(address);
    found = {reinterpret_cast<uint64_t>(known->begin), known->bytes - bytes + 1};
  }
  if (recent)
    *recent = found;
  return true;
}

void GpuMemory::findBuffer(GpuMemory *memory, uint64_t address, uint32_t number) {
  Site &site = memory->sites[number];
  Recent &recent = memory->races ? site.found : *site.recent;
  if (address % site.bytes != 0 ||
      (address - recent.begin >= recent.count && !memory->find(address, site.bytes, &recent)))
    fail(memory, address, number);
  if (memory->races)
    memory->races->access(address, site.bytes, number, site.how);
}

void GpuMemory::accessShared(GpuMemory *memory, uint64_t offset, uint32_t number) {
  const Site &site = memory->sites[number];
  if (offset % site.bytes != 0 || !memory->races || !memory->checkWindow(offset, site.bytes))
    fail(memory, offset, number);
  memory->races->access(reinterpret_cast<uint64_t>(memory->window()) + offset, site.bytes, number, site.how);
}

void GpuMemory::checkBytes(GpuMemory *memory, uint64_t address, uint32_t bytes, uint32_t number) {
  if (bytes > 0 && !memory->find(address, bytes, nullptr))
    fail(memory, address, number);
}

void GpuMemory::report(uint64_t address, uint32_t number) const {
  GpuBlock::failThread(describe(sites[number], address));
}

void GpuMemory::setCondition(GpuMemory *memory, uint64_t condition, uint32_t value) {
  if (memory->conditionSetter)
    memory->conditionSetter(condition, value);
  else
    GpuBlock::failThread("a kernel outside of graphs sets a condition");
}

void GpuMemory::fail(GpuMemory *memory, uint64_t address, uint32_t number) {
  memory->report(address, number);
  // Nothing here has a destructor that would not run.
  GpuBlock::endThread();
}

static std::string describeText(const GpuMemory::Site &site) {
  return "line " + std::to_string(site.line) + ": " + site.text;
}

std::string GpuMemory::describeSite(uint32_t site) const { return describeText(sites[site]); }

std::string GpuMemory::describePlace(uint64_t address) const {
  for (size_t i = 0; i < buffers.size(); ++i)
    if (uint64_t offset = address - reinterpret_cast<uint64_t>(buffers[i].begin); offset < buffers[i].bytes)
      return "byte " + std::to_string(offset) + " of buffer " + std::to_string(i);
  return "address 0x" + llvm::utohexstr(address, /*LowerCase=*/true);
}

std::string GpuMemory::describe(const Site &site, uint64_t address) const {
  std::string where = describeText(site);
  if (site.bytes == 0)
    return where;
  if (address % site.bytes != 0)
    return where + ": address 0x" + llvm::utohexstr(address, /*LowerCase=*/true) + " is not a multiple of " +
           std::to_string(site.bytes);
  // The nearest buffer is a guess, which helps to find the mistake.
  constexpr uint64_t kNear = 4096;
  uint64_t least = kNear;
  std::string guess;
  for (size_t i = 0; i < buffers.size() && !site.isOffset; ++i) {
    auto begin = reinterpret_cast<uint64_t>(buffers[i].begin), end = begin + buffers[i].bytes;
    uint64_t distance = address < begin ? begin - address : address > end ? address - end : 0;
    if (distance >= least)
      continue;
    least = distance;
    guess = ": byte " + std::to_string(static_cast<int64_t>(address - begin)) + " of buffer " + std::to_string(i) +
            ", which has " + std::to_string(buffers[i].bytes);
  }
  if (!guess.empty())
    return where + guess;
  return where + ": address 0x" + llvm::utohexstr(address, /*LowerCase=*/true) + " is out of bounds";
}

const char *GpuMemory::checkWindow(uint64_t offset, uint64_t bytes) const {
  if (offset > windowBytes || windowBytes - offset < bytes)
    return nullptr;
  return window() + offset;
}

} // namespace spmdc
