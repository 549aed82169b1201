//===- GpuClusterHelper.cpp - the blocks of one cluster -------------------===//

#include "tests/passes/gpu/emulator/GpuClusterHelper.h"

#include <algorithm>
#include <cstring>

namespace spmdc {

GpuCluster::GpuCluster(int32_t blocks, int32_t blockThreads) : members(blocks) {
  for (Member &member : members)
    member.block = std::make_unique<GpuBlock>(blockThreads, *this);
}

void GpuCluster::enter(size_t rank) {
  running = rank;
  for (size_t i = 0; i < shared->size(); ++i)
    std::memcpy((*shared)[i].memory, members[rank].memory[i].data(), (*shared)[i].bytes);
}

void GpuCluster::leave(size_t rank) {
  for (size_t i = 0; i < shared->size(); ++i)
    std::memcpy(members[rank].memory[i].data(), (*shared)[i].memory, (*shared)[i].bytes);
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
  bool isWaiting =
      std::any_of(members.begin(), members.end(), [](const Member &member) { return !member.block->hasFinished(); });
  for (const Member &member : members)
    if (isWaiting && member.block->hasFinished())
      return "block " + std::to_string(firstBlock + (&member - members.data())) +
             " has ended, and other blocks of its cluster wait for it";
  for (Member &member : members)
    member.block->leaveClusterBarrier();
  return "";
}

std::string GpuCluster::run(void (*kernel)(void **), void **arguments, int64_t first, ThreadOrder &order,
                            const std::vector<SharedArray> &arrays, const std::function<std::string()> &check) {
  shared = &arrays;
  firstBlock = first;
  for (size_t rank = 0; rank < members.size(); ++rank) {
    Member &member = members[rank];
    member.hasBegun = false;
    member.memory.resize(arrays.size());
    for (size_t i = 0; i < arrays.size(); ++i)
      member.memory[i].assign(arrays[i].bytes, kSharedPattern);
    member.block->start(kernel, arguments, first + static_cast<int64_t>(rank));
  }
  auto hasFinished = [](const Member &member) { return member.block->hasFinished(); };
  while (!std::all_of(members.begin(), members.end(), hasFinished)) {
    for (int64_t rank : order.permute(static_cast<int64_t>(members.size()))) {
      if (hasFinished(members[rank]))
        continue;
      std::string problem = runBlock(rank, order);
      if (problem.empty())
        problem = check();
      if (!problem.empty())
        return problem;
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
  for (size_t i = 0; i < shared->size(); ++i)
    if (const SharedArray &array = (*shared)[i]; byte >= array.memory && byte < array.memory + array.bytes)
      return rank == static_cast<int32_t>(running) ? address : other.memory[i].data() + (byte - array.memory);
  block.report("the address in another block of memory that is not shared");
  return address;
}

} // namespace spmdc
