//===- GpuClusterHelper.cpp - the blocks of one cluster -------------------===//

#include "tests/passes/gpu/emulator/GpuClusterHelper.h"

#include <algorithm>
#include <cstring>

namespace spmdc {

/// More turns of all blocks than this without an end: they wait for memory that no thread writes.
static constexpr int64_t kMostTurns = 100'000;

GpuCluster::GpuCluster(int32_t blocks, int32_t blockThreads, GpuMemory &memory) : memory(memory), members(blocks) {
  for (Member &member : members)
    member.block = std::make_unique<GpuBlock>(blockThreads, *this);
}

void GpuCluster::start(int64_t blocks, uint64_t windowBytes) {
  gridBlocks = blocks;
  memory.windowBytes = windowBytes;
  memory.directBytes = memory.races ? 0 : windowBytes;
  for (Member &member : members)
    member.memory.resize(members.size() > 1 ? windowBytes : 0);
}

std::span<GpuCluster::Member> GpuCluster::present() {
  auto count = std::min<int64_t>(static_cast<int64_t>(members.size()), gridBlocks - firstBlock);
  return std::span(members).first(static_cast<size_t>(count));
}

std::vector<GpuBuffer> GpuCluster::getBuffers() const {
  std::vector<GpuBuffer> buffers = {{memory.window(), memory.windowBytes}};
  if (members.size() > 1)
    for (const Member &member : members)
      buffers.push_back({member.memory.data(), member.memory.size()});
  return buffers;
}

void GpuCluster::enter(size_t rank) {
  running = rank;
  if (memory.races)
    memory.races->enter(rank, members.size() > 1 ? members[rank].memory.data() : memory.window());
  std::copy(members[rank].memory.begin(), members[rank].memory.end(), memory.window());
}

void GpuCluster::leave(size_t rank) {
  std::copy_n(memory.window(), members[rank].memory.size(), members[rank].memory.begin());
}

std::string GpuCluster::runBlock(size_t rank, ThreadOrder &order) {
  Member &member = members[rank];
  member.hasBegun = true;
  enter(rank);
  std::string problem = member.block->run(order);
  leave(rank);
  return problem;
}

std::string GpuCluster::release() {
  std::span<Member> blocks = present();
  bool isWaiting =
      std::any_of(blocks.begin(), blocks.end(), [](const Member &member) { return !member.block->hasFinished(); });
  for (const Member &member : blocks)
    if (isWaiting && member.block->hasFinished())
      return "block " + std::to_string(firstBlock + (&member - members.data())) +
             " has ended, and other blocks of its cluster wait for it";
  for (Member &member : blocks)
    member.block->leaveClusterBarrier();
  if (memory.races)
    memory.races->leaveCluster();
  return "";
}

std::string GpuCluster::run(void (*kernel)(void **), void **arguments, int64_t first, ThreadOrder &order) {
  firstBlock = first;
  if (memory.races)
    memory.races->startCluster(first);
  std::fill_n(memory.window(), memory.windowBytes, kSharedPattern);
  std::span<Member> blocks = present();
  for (Member &member : blocks) {
    member.hasBegun = false;
    std::fill(member.memory.begin(), member.memory.end(), kSharedPattern);
    member.block->start(kernel, arguments, first + (&member - members.data()));
  }
  auto hasFinished = [](const Member &member) { return member.block->hasFinished(); };
  for (int64_t turns = 0; !std::all_of(blocks.begin(), blocks.end(), hasFinished);) {
    for (int64_t rank : order.permute(static_cast<int64_t>(blocks.size()))) {
      if (hasFinished(members[rank]))
        continue;
      std::string problem = runBlock(rank, order);
      if (!problem.empty())
        return problem;
    }
    if (std::any_of(blocks.begin(), blocks.end(), [](const Member &member) { return member.block->isInTurns(); })) {
      if (++turns > kMostTurns)
        return "blocks from " + std::to_string(first) + " on wait for memory that no thread writes";
      continue;
    }
    if (std::string problem = release(); !problem.empty())
      return problem;
  }
  return "";
}

void *GpuCluster::mapAddress(void *address, int32_t rank) {
  auto *byte = static_cast<char *>(address);
  GpuBlock &block = *members[running].block;
  if (rank < 0 || rank >= static_cast<int32_t>(members.size())) {
    block.report("a block that the cluster does not have");
    return address;
  }
  Member &other = members[rank];
  if (!other.hasBegun || other.block->hasFinished()) {
    block.report(std::string("the shared memory of block ") + std::to_string(firstBlock + rank) + ", which has " +
                 (other.hasBegun ? "ended" : "not begun"));
    return address;
  }
  if (byte >= memory.window() && byte < memory.window() + memory.windowBytes)
    return rank == static_cast<int32_t>(running) ? address : other.memory.data() + (byte - memory.window());
  block.report("the address in another block of memory that is not shared");
  return address;
}

} // namespace spmdc
