//===- GpuInstructionsHelper.cpp - instructions about threads -------------===//

#include "tests/passes/gpu/emulator/GpuInstructionsHelper.h"

#include "tests/passes/gpu/emulator/GpuClusterHelper.h"

#include <algorithm>
#include <bit>
#include <chrono>
#include <limits>
#include <numeric>

namespace spmdc {

using Fiber = GpuBlock::Fiber;

static GpuBlock &block() { return *GpuBlock::active; }
static Fiber &fiber() { return *GpuBlock::active->current; }

/// All lanes must take part: code for parts of a warp is not supported here.
static void checkMask(uint32_t mask) {
  if ((GpuInstructions::readWarpMask() & ~mask) != 0)
    block().report("an operation of only some lanes of the warp, which this emulator does not know");
}

int32_t GpuInstructions::readThread() { return fiber().thread; }
int32_t GpuInstructions::readBlockThreads() { return static_cast<int32_t>(block().fibers.size()); }
int32_t GpuInstructions::readBlock() { return static_cast<int32_t>(block().number); }
int32_t GpuInstructions::readGridBlocks() { return static_cast<int32_t>(block().cluster.countGridBlocks()); }
int32_t GpuInstructions::readLane() { return fiber().thread % GpuBlock::kWarp; }
int32_t GpuInstructions::readClusterRank() { return readBlock() % readClusterBlocks(); }
int32_t GpuInstructions::readClusterBlocks() { return block().cluster.countBlocks(); }

uint64_t GpuInstructions::readTime() {
  auto now = std::chrono::steady_clock::now().time_since_epoch();
  return static_cast<uint64_t>(std::chrono::nanoseconds(now).count());
}

uint32_t GpuInstructions::readWarpMask() {
  int32_t first = fiber().thread / GpuBlock::kWarp * GpuBlock::kWarp;
  int32_t lanes = std::min(GpuBlock::kWarp, readBlockThreads() - first);
  return lanes == GpuBlock::kWarp ? UINT32_MAX : (uint32_t{1} << lanes) - 1;
}

void GpuInstructions::waitAtBarrier() { block().wait(Fiber::AtBarrier); }

void GpuInstructions::waitForWarp(uint32_t mask) {
  checkMask(mask);
  block().wait(Fiber::AtWarpSync);
}

void GpuInstructions::fence(uint32_t isOfBlock) {
  if (GpuRaces *races = block().races())
    races->fence(isOfBlock != 0);
}

void GpuInstructions::publish() {
  if (GpuRaces *races = block().races())
    races->publish();
}

void GpuInstructions::arriveAtCluster(uint32_t isRelaxed) {
  if (fiber().hasArrived)
    block().report("arrives at the barrier of the cluster twice");
  fiber().hasArrived = true;
  if (GpuRaces *races = block().races(); races && !isRelaxed)
    races->arriveAtCluster();
}

void GpuInstructions::waitForCluster() {
  if (!fiber().hasArrived)
    block().report("waits for the cluster, but has not arrived");
  block().wait(Fiber::AtCluster);
}

void *GpuInstructions::mapAddress(void *address, int32_t rank) { return block().cluster.mapAddress(address, rank); }

uint64_t GpuInstructions::shuffle(int32_t kind, uint32_t value, uint32_t offset, uint32_t clamp, uint32_t mask) {
  checkMask(mask);
  fiber().kind = static_cast<GpuBlock::ShuffleKind>(kind);
  fiber().value = value;
  fiber().offset = offset;
  fiber().clamp = clamp;
  block().wait(Fiber::AtShuffle);
  return fiber().value | static_cast<uint64_t>(fiber().isInside) << 32;
}

uint32_t GpuInstructions::vote(uint32_t condition, uint32_t mask) {
  return static_cast<uint32_t>(shuffle(static_cast<int32_t>(GpuBlock::ShuffleKind::Ballot), condition, 0, 0, mask));
}

//===----------------------------------------------------------------------===//
// Barriers with phases, and copies
//===----------------------------------------------------------------------===//

void GpuInstructions::prepareBarrier(PhaseBarrier *barrier, uint32_t expected) {
  *barrier = {expected, PhaseBarrier::kPrepared, expected, 0};
  if (GpuRaces *races = block().races())
    races->preparePhases(barrier);
}

static bool isPrepared(PhaseBarrier *barrier) {
  if (barrier->isPrepared != PhaseBarrier::kPrepared)
    block().report("uses a barrier that no thread has prepared");
  return barrier->isPrepared == PhaseBarrier::kPrepared;
}

uint64_t GpuInstructions::arriveAtBarrier(PhaseBarrier *barrier) {
  if (!isPrepared(barrier))
    return 0;
  bool isComplete = barrier->arrive();
  if (GpuRaces *races = block().races())
    races->arriveAtPhase(barrier, isComplete);
  return 0;
}

void GpuInstructions::arriveWithCopies(PhaseBarrier *barrier) {
  size_t before = 0;
  for (const GpuBlock::CopyArrival &arrival : fiber().arrivals)
    before += arrival.copies;
  if (!isPrepared(barrier))
    return;
  GpuRaces *races = block().races();
  fiber().arrivals.push_back({barrier, fiber().copies.size() - before, races ? races->announceCopies() : GpuView()});
  ++block().arrivals;
}

void GpuInstructions::waitForPhase(PhaseBarrier *barrier, uint32_t parity) {
  fiber().phaseBarrier = barrier;
  fiber().phaseParity = parity;
  if (!isPrepared(barrier))
    return;
  block().wait(Fiber::AtPhase);
  if (GpuRaces *races = block().races())
    races->waitForPhase(barrier);
}

void GpuInstructions::startCopy(void *target, const void *source, uint32_t bytes, uint32_t site) {
  if (bytes > GpuCopy::kBytes) {
    block().report("a copy of more than 16 bytes");
    return;
  }
  fiber().copies.push_back(GpuCopy::start(target, source, bytes));
  if (GpuRaces *races = block().races())
    races->startCopy(reinterpret_cast<uint64_t>(target), reinterpret_cast<uint64_t>(source), bytes, site);
}

void GpuInstructions::commitCopies() {
  std::deque<size_t> &groups = fiber().copyGroups;
  groups.push_back(fiber().copies.size() - std::accumulate(groups.begin(), groups.end(), size_t{0}));
}

void GpuInstructions::finishCopies(uint32_t pending) {
  std::vector<GpuCopy> &copies = fiber().copies;
  for (std::deque<size_t> &groups = fiber().copyGroups; groups.size() > pending; groups.pop_front()) {
    auto end = copies.begin() + static_cast<std::ptrdiff_t>(groups.front());
    std::for_each(copies.begin(), end, [](const GpuCopy &copy) { copy.finish(); });
    copies.erase(copies.begin(), end);
  }
  if (GpuRaces *races = block().races())
    races->finishCopies(static_cast<uint32_t>(copies.size()));
  if (!fiber().arrivals.empty())
    block().report("waits for copies in groups, and for the same ones at a barrier");
}

//===----------------------------------------------------------------------===//
// Matrices
//===----------------------------------------------------------------------===//

void GpuInstructions::exchangeMatrices(int32_t kind, uint32_t *words) {
  fiber().matrices = static_cast<GpuBlock::MatrixKind>(kind);
  fiber().words = words;
  block().wait(Fiber::AtShuffle);
}

constexpr size_t kFirstSum = WarpgroupProduct::kLeftWords + WarpgroupProduct::kRightWords;

/// The first started product with the sums in these registers; null if there is none.
static GpuBlock::StartedProduct *findStarted(std::vector<GpuBlock::StartedProduct> &rest, size_t from,
                                             const float *sum) {
  for (size_t i = from; i < rest.size(); ++i)
    if (rest[i].sums[0] == sum)
      return &rest[i];
  for (auto &group : fiber().products)
    for (GpuBlock::StartedProduct &product : group)
      if (product.sums[0] == sum)
        return &product;
  return nullptr;
}

/// Reports a product that a GPU does not define: its registers are not fenced, a descriptor has no layout that this
/// emulator knows, or other threads of the warpgroup start another product.
static void checkStart(const GpuBlock::ProductStart &start, bool isLeftInRegisters) {
  if (!fiber().hasFence)
    block().report("starts a product of a warpgroup without wgmma.fence");
  for (size_t i = isLeftInRegisters ? 1 : 0; i < start.descriptors.size(); ++i)
    if (const char *problem = WarpgroupProduct::findProblem(start.descriptors[i]))
      block().report(problem);
  auto &ofGroup = block().productStarts[static_cast<size_t>(fiber().thread / (4 * GpuBlock::kWarp))];
  size_t number = fiber().startedProducts++;
  if (number == ofGroup.size())
    ofGroup.push_back(start);
  else if (ofGroup[number] != start)
    block().report("the threads of a warpgroup start different products");
}

void GpuInstructions::startProduct(uint32_t product, const uint32_t *words, float *const *sums, uint32_t accumulates,
                                   uint32_t site) {
  auto count = static_cast<size_t>(WarpgroupProduct::decode(product).columns / 2);
  bool isLeftInRegisters = WarpgroupProduct::decode(product).isLeftInRegisters;
  auto descriptorAt = [&](int word) { return static_cast<uint64_t>(words[word + 1]) << 32 | words[word]; };
  checkStart({product,
              {isLeftInRegisters ? 0 : descriptorAt(0), descriptorAt(WarpgroupProduct::kLeftWords)},
              accumulates != 0},
             isLeftInRegisters);
  GpuBlock::StartedProduct started{product, {words, words + kFirstSum}, {sums, sums + count}, accumulates != 0};
  started.words.resize(kFirstSum + count, 0);
  std::vector<GpuBlock::StartedProduct> none;
  // If a product before it has the same registers, that one gives the sums when it is finished.
  bool isNext = findStarted(none, 0, sums[0]) != nullptr;
  for (size_t i = 0; i < count; ++i) {
    if (accumulates && !isNext)
      started.words[kFirstSum + i] = std::bit_cast<uint32_t>(*sums[i]);
    *sums[i] = std::numeric_limits<float>::quiet_NaN();
  }
  fiber().products.back().push_back(std::move(started));
  // The first lane stands for its warp.
  if (GpuRaces *races = block().races(); races && readLane() == 0)
    races->readByProduct(WarpgroupProduct::decode(product).findReads(words, block().cluster.memory,
                                                                     fiber().thread / GpuBlock::kWarp % 4),
                         site);
}

void GpuInstructions::fenceProducts() { fiber().hasFence = true; }

void GpuInstructions::commitProducts() {
  fiber().products.emplace_back();
  if (GpuRaces *races = block().races())
    races->commitProducts();
}

void GpuInstructions::finishProducts(uint32_t running) {
  if (!fiber().products.back().empty())
    block().report("waits for products of a warpgroup that are not committed");
  fiber().hasFence = false;
  while (fiber().products.size() > running + size_t{1}) {
    std::vector<GpuBlock::StartedProduct> group = std::move(fiber().products.front());
    fiber().products.pop_front();
    for (size_t i = 0; i < group.size(); ++i) {
      fiber().product = group[i].product;
      exchangeMatrices(static_cast<int32_t>(GpuBlock::MatrixKind::Warpgroup), group[i].words.data());
      GpuBlock::StartedProduct *following = findStarted(group, i + 1, group[i].sums[0]);
      for (size_t sum = 0; sum < group[i].sums.size(); ++sum) {
        uint32_t word = group[i].words[kFirstSum + sum];
        if (!following)
          *group[i].sums[sum] = std::bit_cast<float>(word);
        else if (following->accumulates)
          following->words[kFirstSum + sum] = word;
      }
    }
  }
  if (GpuRaces *races = block().races())
    races->finishProducts(running);
}

} // namespace spmdc
