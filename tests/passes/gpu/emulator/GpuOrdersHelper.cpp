//===- GpuOrdersHelper.cpp - what orders the accesses of threads ----------===//
//
// The part of GpuRaces that synchronizes. A thread that releases gets a new time, so that its later accesses do not
// come before what it has released.
//
//===----------------------------------------------------------------------===//

#include "tests/passes/gpu/emulator/GpuRacesHelper.h"
#include "tests/passes/gpu/emulator/GpuThreadsHelper.h"

#include <algorithm>

namespace spmdc {

GpuSharedClock GpuRaces::joinShared(const GpuSharedClock &before, const GpuClock &with, uint64_t version,
                                    Joined &recent) const {
  if (with.isEmpty())
    return before;
  if (!recent.after || recent.before != before || recent.version != version) {
    auto joined = before ? std::make_shared<GpuClock>(*before) : std::make_shared<GpuClock>(blockAgents);
    joined->join(with);
    recent = {before, std::move(joined), version};
  }
  return recent.after;
}

void GpuRaces::setKnown(Thread &thread, GpuAgent block, GpuSharedClock known) {
  thread.view.known = std::move(known);
  thread.times = thread.view.known ? thread.view.known->find(block) : nullptr;
}

void GpuRaces::acquire(Thread &by, GpuAgent block, const GpuKnowledge &knowledge) {
  setKnown(by, block, joinShared(by.view.known, knowledge.known, knowledge.version, recentKnown));
  by.view.published = joinShared(by.view.published, knowledge.published, knowledge.version, recentPublished);
}

//===----------------------------------------------------------------------===//
// Threads that meet
//===----------------------------------------------------------------------===//

void GpuRaces::meet(int32_t first, int32_t last) {
  GpuKnowledge all = makeKnowledge();
  for (int32_t t = first; t < last; ++t)
    all.join(running->threads[t].view);
  auto known = std::make_shared<GpuClock>(std::move(all.known));
  auto published = all.published.isEmpty() ? nullptr : std::make_shared<GpuClock>(std::move(all.published));
  for (int32_t t = first; t < last; ++t) {
    Thread &thread = running->threads[t];
    setKnown(thread, running->first, known);
    thread.view.published = published;
    ++thread.view.self.time;
  }
}

void GpuRaces::arriveAtCluster() {
  cluster.join(thread().view);
  ++thread().view.self.time;
}

void GpuRaces::leaveCluster() {
  for (Block &block : blocks)
    for (Thread &by : block.threads)
      acquire(by, block.first, cluster);
  cluster = makeKnowledge();
}

void GpuRaces::preparePhases(const void *barrier) {
  phases.insert_or_assign(placeOf(reinterpret_cast<uint64_t>(barrier)).address,
                          Phases{makeKnowledge(), makeKnowledge()});
}

void GpuRaces::arriveAtPhase(const void *barrier, const GpuView &view, bool isComplete) {
  auto known = phases.find(placeOf(reinterpret_cast<uint64_t>(barrier)).address);
  if (known == phases.end())
    return;
  // Phases follow each other, so what arrived at the ones before is kept.
  known->second.arrived.join(view);
  if (isComplete)
    known->second.completed.join(known->second.arrived);
}

void GpuRaces::arriveAtPhase(const void *barrier, bool isComplete) {
  Thread &by = thread();
  arriveAtPhase(barrier, by.view, isComplete);
  ++by.view.self.time;
}

void GpuRaces::waitForPhase(const void *barrier) {
  auto known = phases.find(placeOf(reinterpret_cast<uint64_t>(barrier)).address);
  if (known != phases.end())
    acquire(thread(), running->first, known->second.completed);
}

//===----------------------------------------------------------------------===//
// Asynchronous operations
//===----------------------------------------------------------------------===//

GpuView GpuRaces::announceCopies() {
  Thread &by = thread();
  // The thread's accesses behind the last start of a copy do not arrive with it.
  GpuView view = by.issued;
  view.copies = {by.view.copies.agent, by.copiesTime - 1};
  return view;
}

void GpuRaces::finishCopies(uint32_t running) { thread().view.copies.time = thread().copiesTime - 1 - running; }

void GpuRaces::commitProducts() { ++thread().productsTime; }

void GpuRaces::finishProducts(uint32_t pending) {
  Thread &by = thread();
  if (by.productsTime > pending + 1)
    by.view.products.time = std::max(by.view.products.time, by.productsTime - 1 - pending);
}

void GpuRaces::publish() {
  GpuKnowledge all = makeKnowledge();
  all.join(thread().view);
  thread().view.published = std::make_shared<GpuClock>(std::move(all.known));
  ++thread().view.self.time;
}

//===----------------------------------------------------------------------===//
// Fences and atomics
//===----------------------------------------------------------------------===//

void GpuRaces::fence(bool isOfBlock) {
  Thread &by = thread();
  if (by.pendingOfBlock)
    acquire(by, running->first, *by.pendingOfBlock);
  if (by.pendingOfAll && !isOfBlock)
    acquire(by, running->first, *by.pendingOfAll);
  by.releasedToBlock = by.view;
  if (!isOfBlock)
    by.releasedToAll = by.view;
  ++by.view.self.time;
}

void GpuRaces::synchronize(uint64_t address, const GpuAccess &how) {
  Thread &by = thread();
  auto known = carried.find(address);
  if (how.reads && known != carried.end()) {
    auto read = [&](const GpuKnowledge &found, std::unique_ptr<GpuKnowledge> &pending) {
      if (found.isEmpty())
        return;
      if (how.isAcquire)
        acquire(by, running->first, found);
      if (!pending)
        pending = std::make_unique<GpuKnowledge>(makeKnowledge());
      pending->join(found);
    };
    if (known->second.block == running->first)
      read(known->second.toBlock, by.pendingOfBlock);
    if (!how.isOfBlock)
      read(known->second.toAll, by.pendingOfAll);
  }
  if (!how.writes)
    return;
  // A store hides what was carried before; other atomics continue it.
  if (known != carried.end() && !how.reads) {
    carried.erase(known);
    known = carried.end();
  }
  const GpuView &toBlock = how.isRelease ? by.view : by.releasedToBlock;
  const GpuView &toAll = how.isRelease ? by.view : by.releasedToAll;
  if (toBlock.self.agent == 0)
    return;
  if (known == carried.end())
    known = carried.emplace(address, Carried{makeKnowledge(), makeKnowledge(), running->first}).first;
  Carried &carries = known->second;
  if (carries.block != running->first) {
    carries.block = running->first;
    carries.toBlock = makeKnowledge();
  }
  carries.toBlock.join(toBlock);
  if (!how.isOfBlock && toAll.self.agent != 0)
    carries.toAll.join(toAll);
}

} // namespace spmdc
