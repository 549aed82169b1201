//===- GpuRacesHelper.cpp - accesses that nothing orders ------------------===//

#include "tests/passes/gpu/emulator/GpuRacesHelper.h"

#include "tests/passes/gpu/emulator/GpuThreadsHelper.h"

#include <algorithm>
#include <bit>

namespace spmdc {

/// Agents of a block: its threads, the copies of each, and the products of each warp by its first lane. Each kind
/// begins at a multiple of a warp.
static uint32_t roundUpToWarp(uint32_t count) {
  return (count + GpuBlock::kWarp - 1) / GpuBlock::kWarp * GpuBlock::kWarp;
}
static uint32_t countAgents(uint32_t threads) {
  uint32_t rounded = roundUpToWarp(threads);
  return 2 * rounded + roundUpToWarp(rounded / GpuBlock::kWarp);
}

bool GpuRaces::canCount(int64_t gridBlocks, int32_t blockThreads) {
  return gridBlocks < UINT32_MAX / countAgents(static_cast<uint32_t>(blockThreads));
}

GpuRaces::GpuRaces(GpuMemory &memory, int32_t blockThreads, int32_t clusterBlocks)
    : memory(memory), blockThreads(blockThreads), warpedThreads(roundUpToWarp(static_cast<uint32_t>(blockThreads))),
      blockAgents(countAgents(static_cast<uint32_t>(blockThreads))), blocks(clusterBlocks), cluster(makeKnowledge()) {}

void GpuRaces::startCluster(int64_t firstBlock) {
  phases.clear();
  cluster = makeKnowledge();
  for (size_t rank = 0; rank < blocks.size(); ++rank) {
    Block &block = blocks[rank];
    // Atomics on the shared memory of the block before carry nothing to this one.
    carried.erase(carried.lower_bound(block.shared), carried.lower_bound(block.shared + memory.windowBytes));
    block.first = static_cast<GpuAgent>(started.size()) * blockAgents + 1;
    started.push_back(firstBlock + static_cast<int64_t>(rank));
    block.threads.clear();
    block.threads.resize(blockThreads);
    for (uint32_t t = 0; t < block.threads.size(); ++t) {
      GpuView &view = block.threads[t].view;
      view.self = {block.first + t, 1};
      view.copies = {block.first + warpedThreads + t, 0};
      view.products = {block.first + 2 * warpedThreads + t / GpuBlock::kWarp, 0};
    }
  }
}

void GpuRaces::enter(size_t rank, const char *shared) {
  running = &blocks[rank];
  running->shared = reinterpret_cast<uint64_t>(shared);
}

GpuRaces::Thread &GpuRaces::thread() { return running->threads[GpuBlock::active->current->thread]; }

//===----------------------------------------------------------------------===//
// Accesses
//===----------------------------------------------------------------------===//

GpuRaces::Place GpuRaces::placeOf(uint64_t address) const {
  uint64_t offset = address - reinterpret_cast<uint64_t>(memory.window());
  if (offset < memory.windowBytes)
    return {running->shared + offset, blocks[0].first};
  for (const Block &block : blocks)
    if (address - block.shared < memory.windowBytes)
      return {address, blocks[0].first};
  return {address, 1};
}

bool GpuRaces::isBefore(const GpuTrace &old, const Thread &by) const {
  const GpuView &view = by.view;
  if (old.agent == view.self.agent)
    return true;
  if (uint32_t number = old.agent - running->first; by.times && number < blockAgents) {
    if ((*by.times)[number] >= old.time)
      return true;
  } else if (view.known && view.known->covers(old.agent, old.time)) {
    return true;
  }
  for (GpuView::Own own : {view.copies, view.products})
    if (old.agent == own.agent)
      return own.time >= old.time;
  return false;
}

void GpuRaces::trace(Place place, uint32_t bytes, GpuTrace now, const Thread &by, bool isOfProduct) {
  uint64_t end = place.address + bytes;
  for (uint64_t address = place.address; address < end;) {
    uint64_t word = address / GpuTrace::kWordBytes * GpuTrace::kWordBytes;
    uint64_t first = address - word, last = std::min<uint64_t>(end - word, GpuTrace::kWordBytes);
    now.bytes = ((1u << last) - 1) & ~((1u << first) - 1);
    shadow.keep(shadow.at(word), now, place.floor, [&](const GpuTrace &old) {
      bool isOrdered = isBefore(old, by);
      bool isConflict = (old.bytes & now.bytes) != 0 && (old.isWrite || now.isWrite);
      // Scope .cta is not enough between blocks.
      if (old.isAtomic && now.isAtomic)
        isConflict &= (old.isOfBlock || now.isOfBlock) && old.agent - running->first >= blockAgents;
      bool isUnpublished =
          isOfProduct && isOrdered && !(by.view.published && by.view.published->covers(old.agent, old.time));
      if (isConflict && (!isOrdered || isUnpublished) && !isReported)
        report(word, old, now, isUnpublished);
      return isOrdered;
    });
    address = word + last;
  }
}

void GpuRaces::access(uint64_t address, uint32_t bytes, uint32_t site, const GpuAccess &how) {
  // A thread's variables are its own.
  if ((!how.reads && !how.writes) || GpuBlock::isOnStack(address))
    return;
  Thread &by = thread();
  Place place = placeOf(address);
  if (how.isAtomic)
    synchronize(place.address, how);
  GpuTrace now{by.view.self.agent, by.view.self.time, site};
  now.isWrite = how.writes;
  now.isAtomic = how.isAtomic;
  now.isOfBlock = how.isOfBlock;
  trace(place, bytes, now, by, /*isOfProduct=*/false);
  if (how.isRelease)
    ++by.view.self.time;
}

void GpuRaces::startCopy(uint64_t target, uint64_t source, uint32_t bytes, uint32_t site) {
  Thread &by = thread();
  GpuTrace now{by.view.copies.agent, by.copiesTime, site};
  trace(placeOf(source), bytes, now, by, /*isOfProduct=*/false);
  now.isWrite = true;
  trace(placeOf(target), GpuCopy::kBytes, now, by, /*isOfProduct=*/false);
  // Two copies of a thread are not ordered, nor is what it does afterwards.
  ++by.copiesTime;
  by.issued = by.view;
  ++by.view.self.time;
}

void GpuRaces::readByProduct(const std::vector<uint64_t> &offsets, uint32_t site) {
  Thread &by = thread();
  // Those beyond shared memory are an error when the product is executed.
  for (uint64_t offset : offsets)
    if (const char *bytes = memory.checkWindow(offset, WarpgroupProduct::kReadBytes))
      trace(placeOf(reinterpret_cast<uint64_t>(bytes)), WarpgroupProduct::kReadBytes,
            {by.view.products.agent, by.productsTime, site}, by, /*isOfProduct=*/true);
}

//===----------------------------------------------------------------------===//
// Errors
//===----------------------------------------------------------------------===//

void GpuRaces::report(uint64_t address, const GpuTrace &old, const GpuTrace &now, bool isUnpublished) {
  isReported = true;
  uint64_t byte = address + static_cast<uint64_t>(std::countr_zero(uint32_t{old.bytes} & now.bytes));
  GpuBlock::failThread(memory.describeSite(now.site) + ": a race on " + describePlace(byte) + " with " +
                       describe(old.agent) + ", " + memory.describeSite(old.site) +
                       (isUnpublished ? ", because no fence.proxy.async is between them" : ""));
}

std::string GpuRaces::describe(GpuAgent agent) const {
  uint32_t number = (agent - 1) % blockAgents;
  if (number >= 2 * warpedThreads)
    number = (number - 2 * warpedThreads) * GpuBlock::kWarp;
  return "block " + std::to_string(started[(agent - 1) / blockAgents]) + ": thread " +
         std::to_string(number % warpedThreads);
}

std::string GpuRaces::describePlace(uint64_t address) const {
  for (const Block &block : blocks)
    if (uint64_t offset = address - block.shared; offset < memory.windowBytes)
      return "byte " + std::to_string(offset) + " of the shared memory" +
             (blocks.size() > 1 ? " of block " + std::to_string(started[(block.first - 1) / blockAgents]) : "");
  return memory.describePlace(address);
}

} // namespace spmdc
