//===- GpuMapping.h - maps loops to blocks and threads ----------*- C++ -*-===//
//
// The mapping decides which iteration of a scheduled kernel (KernelSchedule.h) runs on which thread of which block. It
// is a function of the schedule alone, so that the launch parameters in the plan and the emitted code agree, and the
// order of every reduction is fixed.
//
//   Flat          element-wise work: a thread computes `vector` neighbours of the last row dimension.
//   ThreadPerRow  reductions over leading dimensions: neighbouring threads take neighbouring rows, `strips` threads a
//                 row, which are a multiple of a block's lanes apart.
//   GroupPerRow   reductions over the last dimension: a warp or some of its lanes a row, several rows a block; long
//                 rows have a block each, or a cluster of blocks.
//   Tiles         transposes: a block computes a square, what it reads crosswise goes through shared memory.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "passes/kernel/KernelSchedule.h"

namespace spmdc {

inline constexpr int64_t kWarpThreads = 32;
/// Threads of a square: kTileThreads x kTileThreadRows.
inline constexpr int64_t kTileThreads = 32, kTileThreadRows = 8;

struct GpuMapping {
  enum class Kind { Flat, ThreadPerRow, GroupPerRow, Tiles };
  Kind kind = Kind::Flat;
  int64_t blockThreads = 0;
  int64_t gridBlocks = 0;
  /// Flat, ThreadPerRow: adjacent elements along the last row dimension that one thread computes.
  int64_t vector = 1;
  /// ThreadPerRow: the number of threads of a block that share a row, where thread s takes elements s, s + strips, s +
  /// 2 strips, ... of its domain; and the number of elements that a thread loads ahead (`batch`).
  int64_t strips = 1, batch = 1;
  /// GroupPerRow: threads that share a row (a power of two: a part of a warp, or full warps), rows of one block, and
  /// blocks that share a row (a cluster).
  int64_t threadsPerRow = 1, rowsPerBlock = 1, clusterBlocks = 1;
  /// GroupPerRow: for each domain, the adjacent elements of a thread (as `vector`), its rounds, and the rounds that it
  /// loads ahead (`batch`). A few rounds are unrolled.
  struct DomainMapping {
    int64_t vector = 1, rounds = 1, batch = 1;
    bool isUnrolled = false;
    /// The rounds of a scan that are computed at once.
    int64_t scanRounds = 1;
  };
  std::vector<DomainMapping> domains;
  /// Tiles: loads that go through shared memory, into KernelSchedule::loads.
  llvm::SmallVector<unsigned> tiledLoads;
  /// GroupPerRow: stage-local caches are in shared memory, not local to a thread.
  bool hasSharedCaches = false;
  /// Shared memory that the launch has to request, if stage-local caches need more than a kernel may declare.
  int64_t sharedBytes = 0;
  /// Memory of the grid that is cleared before the launch (ContinuedScans.h).
  int64_t stateBytes = 0;
  /// Blocks for which a multiprocessor must have registers; 0: as many as hide the latency of memory by themselves.
  int64_t residentBlocks = 0;
  /// Tiles: adjacent elements of one access of a thread, and the side of the squares.
  int64_t tileVector = 1, tileSide = kTileThreads;

  static GpuMapping choose(const KernelBody &body, const KernelSchedule &schedule, const GpuLimits &limits);

  /// True if the output may have the memory of the input (passes/kernel/Overwrites.h): the thread that writes an
  /// element is the only one that reads it, or all threads have read it before a barrier.
  bool canOverwrite(const KernelBody &body, const KernelSchedule &schedule, mlir::Value input, unsigned output) const;

  /// Returns the mapping as text, for tests and --emit=kernels.
  std::string str() const;
};

} // namespace spmdc
