//===- GpuInstructionsHelper.h - instructions about threads -----*- C++ -*-===//
//
// The functions that the code of a kernel calls. They act on the running thread of GpuBlock::active.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "tests/passes/gpu/emulator/GpuThreadsHelper.h"

namespace spmdc {

struct GpuInstructions {
  static int32_t readThread();
  static int32_t readBlockThreads();
  static int32_t readBlock();
  static int32_t readGridBlocks();
  static int32_t readLane();
  static int32_t readClusterRank();
  static int32_t readClusterBlocks();
  static uint64_t readTime(); ///< Nanoseconds.
  /// A bit for each lane of the warp.
  static uint32_t readWarpMask();

  static void waitAtBarrier();
  static void waitForWarp(uint32_t mask);
  static void fence(uint32_t isOfBlock);
  static void publish();
  static void arriveAtCluster(uint32_t isRelaxed);
  static void waitForCluster();
  static void *mapAddress(void *address, int32_t rank);

  /// The value, and in bit 32 whether it is that of another lane. `kind`: a GpuBlock::ShuffleKind.
  static uint64_t shuffle(int32_t kind, uint32_t value, uint32_t offset, uint32_t clamp, uint32_t mask);
  /// A bit for each lane whose condition holds.
  static uint32_t vote(uint32_t condition, uint32_t mask);

  static void prepareBarrier(PhaseBarrier *barrier, uint32_t expected);
  static uint64_t arriveAtBarrier(PhaseBarrier *barrier);
  static void arriveWithCopies(PhaseBarrier *barrier);
  static void waitForPhase(PhaseBarrier *barrier, uint32_t parity);

  static void startCopy(void *target, const void *source, uint32_t bytes, uint32_t site);
  /// Makes a group of the copies that are in none.
  static void commitCopies();
  /// Finishes all groups but the last `pending` ones.
  static void finishCopies(uint32_t pending);

  /// `kind`: a GpuBlock::MatrixKind.
  static void exchangeMatrices(int32_t kind, uint32_t *words);
  /// Starts a product (an encoded WarpgroupProduct) whose sums are in these registers; the words are its factors. Until
  /// the kernel waits for it, the registers are NaN.
  static void startProduct(uint32_t product, const uint32_t *words, float *const *sums, uint32_t accumulates,
                           uint32_t site);
  static void fenceProducts();
  static void commitProducts();
  /// Executes the groups of products but the last `running`.
  static void finishProducts(uint32_t running);
};

} // namespace spmdc
