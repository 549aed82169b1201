//===- GpuRacesHelper.h - accesses that nothing orders ----------*- C++ -*-===//
//
// Finds data races by the memory consistency model of the PTX ISA: two accesses to a byte by different threads, of
// which one writes and which are not both atomic, are an error unless the first one comes before the second one. That
// is so in program order, and across
//   bar.sync, bar.warp.sync   for the threads that wait there together
//   barrier.cluster           from arrive (not .relaxed) to wait, for the threads of a cluster
//   mbarrier                  from each arrival of a phase to the waits for it
//   fences and atomics        from a fence or release before an atomic write to a fence or acquire after an atomic read
//                             that finds its value; only in a block if a scope is .cta
// Shuffles, votes and matrix instructions of a warp order nothing. A write of a cp.async comes before the accesses
// behind a wait for it, or for the phase at which it arrives, and not before others of its own thread. A product of a
// warpgroup reads shared memory until the wait for it. It reads by another way (async proxy), so a fence.proxy.async
// must come between a write and its start.
//
// One order of threads finds the races of all in which threads execute the same instructions, because it does not
// matter when accesses happen, but whether they are ordered.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "tests/passes/gpu/emulator/GpuShadowHelper.h"

#include <string>

namespace spmdc {

class GpuMemory;

/// The effect of an instruction on memory.
struct GpuAccess {
  bool reads = false, writes = false;
  bool isAtomic =
      false; ///< A strong operation: atom, red, or ld and st that are relaxed, acquire, release or volatile.
  bool isAcquire = false, isRelease = false;
  bool isOfBlock = false; ///< Of scope .cta.
};

/// The races of one launch.
class GpuRaces {
public:
  GpuRaces(GpuMemory &memory, int32_t blockThreads, int32_t clusterBlocks);
  /// Whether all agents of a launch have a number.
  static bool canCount(int64_t gridBlocks, int32_t blockThreads);

  /// The next blocks run, and no block before them any more.
  void startCluster(int64_t firstBlock);
  /// A block of the cluster goes on, whose shared memory is at `shared` while it does not run.
  void enter(size_t rank, const char *shared);

  /// Instructions of the running thread.
  void access(uint64_t address, uint32_t bytes, uint32_t site, const GpuAccess &how);
  void fence(bool isOfBlock);
  void publish(); ///< fence.proxy.async
  void startCopy(uint64_t target, uint64_t source, uint32_t bytes, uint32_t site);
  /// Returns the view that arrives at a barrier when the copies before are finished.
  GpuView announceCopies();
  /// All copies of the thread but the last ones are finished.
  void finishCopies(uint32_t running);
  /// A product that is started and not committed reads these 16 bytes each, by their offset in shared memory.
  void readByProduct(const std::vector<uint64_t> &offsets, uint32_t site);
  void commitProducts();
  void finishProducts(uint32_t running);
  void arriveAtCluster();
  void preparePhases(const void *barrier);
  void arriveAtPhase(const void *barrier, bool isComplete);
  void waitForPhase(const void *barrier);

  /// Copies of a thread of the running block are finished, and arrive.
  void arriveAtPhase(const void *barrier, const GpuView &view, bool isComplete);
  /// Threads of the running block have met at a barrier.
  void meet(int32_t first, int32_t last);
  /// All threads of the cluster have met.
  void leaveCluster();

private:
  struct Thread {
    GpuView view;
    uint32_t copiesTime = 1, productsTime = 1;                  ///< Of those that start next.
    GpuView issued;                                             ///< At the last start of a copy.
    GpuView releasedToBlock, releasedToAll;                     ///< At the last fences.
    std::unique_ptr<GpuKnowledge> pendingOfBlock, pendingOfAll; ///< Found by atomic reads.
    const std::vector<uint32_t> *times = nullptr;               ///< Those of the block's agents in `view.known`.
  };
  struct Block {
    std::vector<Thread> threads;
    uint64_t shared = 0;
    GpuAgent first = 0;
  };
  /// Carried by atomic writes to an address.
  struct Carried {
    GpuKnowledge toBlock, toAll;
    GpuAgent block = 0; ///< The first agent of the block of `toBlock`.
  };
  struct Phases {
    GpuKnowledge arrived, completed;
  };
  struct Place {
    uint64_t address; ///< The same for all blocks that access it.
    GpuAgent floor;   ///< The first agent that may have accessed it in this launch.
  };

  Thread &thread();
  Place placeOf(uint64_t address) const;
  void trace(Place place, uint32_t bytes, GpuTrace now, const Thread &by, bool isOfProduct);
  bool isBefore(const GpuTrace &old, const Thread &by) const;
  void report(uint64_t address, const GpuTrace &old, const GpuTrace &now, bool isUnpublished);
  std::string describe(GpuAgent agent) const;
  std::string describePlace(uint64_t address) const;

  GpuKnowledge makeKnowledge() const { return GpuKnowledge(blockAgents); }
  void acquire(Thread &by, GpuAgent block, const GpuKnowledge &knowledge);
  void setKnown(Thread &thread, GpuAgent block, GpuSharedClock known);
  void synchronize(uint64_t address, const GpuAccess &how);

  GpuMemory &memory;
  int32_t blockThreads;
  uint32_t warpedThreads, blockAgents;
  std::vector<int64_t> started; ///< The numbers of the blocks, in the order of their agents.
  std::vector<Block> blocks;    ///< Those of the cluster.
  Block *running = nullptr;
  bool isReported = false;
  GpuShadow shadow;
  std::map<uint64_t, Phases> phases; ///< By address.
  std::map<uint64_t, Carried> carried;
  GpuKnowledge cluster;
  /// The last result of joining a clock, which the other threads of a block mostly need, too.
  struct Joined {
    GpuSharedClock before, after;
    uint64_t version = 0;
  } recentKnown, recentPublished;
  GpuSharedClock joinShared(const GpuSharedClock &before, const GpuClock &with, uint64_t version, Joined &recent) const;
};

} // namespace spmdc
