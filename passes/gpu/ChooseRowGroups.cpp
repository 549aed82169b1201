//===- ChooseRowGroups.cpp - threads and blocks that share a row ----------===//

#include "passes/gpu/ContinuedScans.h"
#include "passes/gpu/MappingChooser.h"

using namespace mlir;

namespace spmdc {
namespace {

constexpr int64_t kMaxGroupThreads = 256;
/// Threads of a block that has several rows.
constexpr int64_t kShortRowThreads = 256;
/// Adjacent threads of a short row read at least this many adjacent bytes: two sectors of memory.
constexpr int64_t kSegmentBytes = 64;
/// With fewer rows than this, a long row uses as many threads as it has work for.
constexpr int64_t kFewRows = 512;
/// Grids with fewer blocks than this (two for each of an H100's multiprocessors) get blocks of the largest size.
constexpr int64_t kFewBlocks = 264;
/// Elements that a thread computes without a loop.
constexpr int64_t kMaxUnrolled = 16;
/// The most rounds of a continued scan, each of which has registers: with 16, some were spilled.
constexpr int64_t kMaxContinuedRounds = 8;
/// A block of a cluster has at most this many threads: several share a multiprocessor, and while the threads of one
/// wait for other blocks, those of another one load or store.
constexpr int64_t kMaxClusterThreads = kMaxThreads / 2;

} // namespace

void MappingChooser::chooseGroups() {
  mapping.kind = GpuMapping::Kind::GroupPerRow;
  for (const KernelSchedule::Domain &domain : schedule.domains) {
    GpuMapping::DomainMapping inner;
    if (!domain.shape.empty())
      inner.vector = chooseVector(domain.vars.back(), domain.shape.back());
    mapping.domains.push_back(inner);
  }
  for (const KernelSchedule::Stage &stage : schedule.stages)
    if (!stage.scans.empty() && !isSimpleBody)
      mapping.domains[stage.domain].vector = 1;
  mapping.clusterBlocks = chooseClusterBlocks();
  int64_t most = 1, extent = rowExtent(), blocks = extent * mapping.clusterBlocks;
  for (auto [domain, inner] : llvm::zip(schedule.domains, mapping.domains))
    most = std::max(most, ceilDiv(domain.getExtent() / inner.vector, mapping.clusterBlocks));
  // The threads of a continued scan keep all elements of a row.
  bool isContinued = ContinuedScans::isIn(schedule);
  int64_t wanted = extent < kFewRows || isContinued ? most : ceilDiv(most, 4);
  int64_t threads = std::clamp<int64_t>(llvm::PowerOf2Ceil(wanted), chooseFewestThreads(), kMaxGroupThreads);
  // More threads if there are few rows, or if only more threads have registers for all kept values.
  int64_t limit = chooseThreadsThatKeep(threads);
  if (threads == kMaxGroupThreads && blocks < kFewBlocks && isSimpleBody && !isContinued)
    limit = kMaxThreads;
  threads = std::clamp<int64_t>(llvm::PowerOf2Ceil(most), threads, limit);
  if (isContinued)
    threads = std::clamp<int64_t>(llvm::PowerOf2Ceil(ceilDiv(most, kMaxContinuedRounds)),
                                  std::min(threads, kMaxThreads / 2), kMaxThreads / 2);
  mapping.threadsPerRow = threads * mapping.clusterBlocks;
  if (threads <= kWarpThreads && !isContinued)
    mapping.rowsPerBlock = std::clamp<int64_t>(llvm::alignTo(extent, kWarpThreads / threads), kWarpThreads / threads,
                                               kShortRowThreads / threads);
  mapping.blockThreads = threads * mapping.rowsPerBlock;
  mapping.gridBlocks = ceilDiv(blocks, mapping.rowsPerBlock);
  for (auto [domain, inner] : llvm::zip(schedule.domains, mapping.domains)) {
    inner.rounds = ceilDiv(domain.getExtent() / inner.vector, mapping.threadsPerRow);
    inner.isUnrolled = inner.rounds * inner.vector <= (isHeavyBody ? 2 : kMaxUnrolled);
    // At eight adjacent elements a thread runs one round: LLVM's load vectoriser split the loads of a second one (a
    // softmax of bf16 rows of 32768 elements).
    if (!inner.isUnrolled && !isHeavyBody && isSimpleBody && inner.vector < kMaxVector)
      inner.batch = std::clamp<int64_t>(kMaxAhead / inner.vector, 1, inner.rounds);
    // A thread of a block of 1024 has registers for one round: with two, some were spilled.
    int64_t fullRounds = domain.getExtent() / inner.vector / mapping.threadsPerRow;
    if (!isHeavyBody && isSimpleBody && mapping.blockThreads <= kMaxThreads / 2)
      inner.scanRounds = std::clamp<int64_t>(kMaxAhead / inner.vector, 1, std::max<int64_t>(fullRounds, 1));
    if (isContinued)
      inner.scanRounds = inner.rounds;
  }
  if (isContinued)
    mapping.stateBytes = ContinuedScans(schedule, extent, threads).words * kWordBytes;
  chooseSharedCaches();
  mapping.residentBlocks = chooseResidentBlocks();
}

void MappingChooser::chooseSharedCaches() {
  int64_t bytes = 0;
  for (const KernelSchedule::Stage &stage : schedule.stages)
    for (const KernelSchedule::StageCache &stageCache : stage.stageCaches) {
      const GpuMapping::DomainMapping &inner = mapping.domains[stage.domain];
      if (!inner.isUnrolled)
        bytes += llvm::alignTo(inner.rounds * inner.vector * mapping.blockThreads * byteSizeOf(stageCache.value),
                               kVectorBytes);
    }
  mapping.hasSharedCaches = bytes > 0 && bytes <= std::max(kMaxSharedCache, ScheduleTraits::forGpu(limits).loadedBytes);
  if (mapping.hasSharedCaches && bytes > kMaxSharedCache)
    mapping.sharedBytes = bytes;
}

bool MappingChooser::hasScans() const {
  return llvm::any_of(schedule.stages, [](const KernelSchedule::Stage &stage) { return !stage.scans.empty(); });
}

/// Four accesses of 16 bytes by each thread are 32 KiB in flight for the 512 threads for which a multiprocessor has
/// room at least (ConvertToNvvm.cpp), and a few threads need fewer shuffles for each row. A warp for each row of 256
/// bytes left half of the lanes idle, and read memory at 58 to 77 % of a copy's rate (row_sums_narrow in
/// benchmarks/RESULTS.md).
int64_t MappingChooser::chooseFewestThreads() const {
  if (hasScans())
    return kWarpThreads;
  int64_t groups = 1, vector = 1, elementBytes = 1;
  for (auto [domain, inner] : llvm::zip(schedule.domains, mapping.domains))
    if (int64_t count = domain.getExtent() / inner.vector; count > groups)
      std::tie(groups, vector) = std::pair(count, inner.vector);
  for (const KernelSchedule::Load &load : schedule.loads)
    if (dependsOnRow(load.index))
      elementBytes = std::max(elementBytes, byteSizeOf(load.value));
  int64_t fewest = std::min<int64_t>(llvm::PowerOf2Ceil(groups), kWarpThreads);
  while (!isHeavyBody && fewest > 1 && rowExtent() * (fewest / 2) >= kWantedThreads &&
         fewest / 2 * vector * elementBytes >= kSegmentBytes)
    fewest /= 2;
  return fewest;
}

MappingChooser::KeptRow MappingChooser::keptOf(int64_t blocks) const {
  ScheduleTraits traits = ScheduleTraits::forGpu(limits);
  KeptRow kept;
  for (const KernelSchedule::Stage &stage : schedule.stages)
    for (const KernelSchedule::StageCache &stageCache : stage.stageCaches) {
      int64_t elements = ceilDiv(schedule.domains[stage.domain].getExtent(), blocks);
      int64_t bytes = elements * byteSizeOf(stageCache.value);
      kept.longest = std::max(kept.longest, elements);
      kept.elements += elements;
      kept.bytes += bytes;
      kept.sharedBytes += llvm::alignTo(bytes, traits.loadedUnit);
    }
  return kept;
}

/// A row that one block keeps in registers, or in shared memory at a speed that arithmetic limits, has one block: no
/// exchange is faster than a barrier. Otherwise, blocks that fill a multiprocessor alone have nothing to do while they
/// wait for their loads, for each other's sums and for their stores: rows of 128 KiB ran at 67 to 83 % of a copy's
/// rate, and rows of 512 KiB, which no block can keep, at 34 % (softmax_32k, softmax_128k in benchmarks/RESULTS.md). So
/// a row has as few blocks as keep their parts in registers, or as many as a cluster has.
int64_t MappingChooser::chooseClusterBlocks() const {
  int64_t mostBytes = ScheduleTraits::forGpu(limits).loadedBytes;
  bool isFast = isSimpleBody && !isHeavyBody;
  KeptRow kept = keptOf(1);
  bool isKept = kept.sharedBytes <= mostBytes && (!isFast || kept.longest <= kMaxThreads * kMaxUnrolled);
  if (hasScans() || isKept)
    return 1;
  int64_t blocks = 1;
  while (blocks < limits.clusterBlocks &&
         (isFast ? kept.elements > kMaxClusterThreads * kMaxUnrolled : kept.sharedBytes > mostBytes))
    kept = keptOf(blocks *= 2);
  return blocks;
}

/// ptxas takes up to 64 registers for a thread that keeps 16 elements of a row, and then a multiprocessor has room for
/// one or two blocks, of which none loads while the others compute or wait. Told how many threads there have to be, it
/// takes fewer, and spills none (GpuBudget.Registers): 32 for 2,048 threads with a softmax, 40 for 1,536 with a norm,
/// except for a layer norm in a cluster, whose three inputs need 64.
int64_t MappingChooser::chooseResidentBlocks() const {
  constexpr int64_t kSoftmaxThreads = 2048, kNormThreads = 1536, kClusterThreads = 1024, kScanThreads = 1280;
  bool hasCluster = mapping.clusterBlocks > 1;
  if (ContinuedScans::isIn(schedule)) // With 48 registers; at 1,536 threads some are spilled.
    return kScanThreads / mapping.blockThreads;
  if (!isSimpleBody || hasScans() || (hasCluster && mapping.blockThreads > kMaxClusterThreads))
    return 0;
  llvm::DenseSet<Value> inputs;
  for (const KernelSchedule::Load &load : schedule.loads)
    inputs.insert(load.value);
  size_t kept = 0;
  for (const KernelSchedule::Stage &stage : schedule.stages)
    kept += stage.stageCaches.size();
  bool isUnrolled = llvm::all_of(mapping.domains, [](auto &inner) { return inner.isUnrolled; });
  bool isLight = weight < kHalfHeavy && body.outputs.size() == 1;
  bool isLean = isLight && inputs.size() <= 2 && kept <= 1;
  bool isNorm = isLight && inputs.size() <= 3 && kept > 0 && kept <= 2 && isUnrolled;
  if (!hasCluster && !isNorm)
    return 0;
  int64_t threads = isNorm && inputs.size() == 1        ? kSoftmaxThreads
                    : isLean || (isNorm && !hasCluster) ? kNormThreads
                                                        : kClusterThreads;
  int64_t withMemory =
      mapping.sharedBytes ? ScheduleTraits::forGpu(limits).loadedBytes / mapping.sharedBytes : kSoftmaxThreads;
  // A loop over rounds needs more registers, with two inputs of 16 bits too many for six blocks of 256 threads.
  int64_t most = isLean && !isUnrolled && inputs.size() > 1 ? 3 : kSoftmaxThreads;
  return std::min({threads / mapping.blockThreads, withMemory, most});
}

int64_t MappingChooser::chooseThreadsThatKeep(int64_t wanted) const {
  bool hasCluster = mapping.clusterBlocks > 1;
  KeptRow kept = keptOf(mapping.clusterBlocks);
  int64_t threads = wanted, most = hasCluster ? kMaxClusterThreads : kMaxThreads;
  while (threads < most && ceilDiv(kept.longest, threads) > kMaxUnrolled)
    threads *= 2;
  if (!isSimpleBody)
    return wanted;
  if (!isHeavyBody && ceilDiv(kept.longest, threads) <= kMaxUnrolled)
    return threads;
  if (wanted < kMaxGroupThreads || kept.bytes <= kMaxSharedCache)
    return wanted;
  // Either two blocks on a multiprocessor, of which one loads while the other stores, or one block with all threads.
  return 2 * kept.bytes <= limits.sharedBytes ? kMaxThreads / 2 : kMaxThreads;
}

} // namespace spmdc
