//===- ContinuedScans.h - totals that blocks pass on ------------*- C++ -*-===//
//
// A continued scan (array.cumulative) in one kernel, which reads its operand once: Merrill and Garland, "Single-pass
// Parallel Prefix Scan with Decoupled Look-back" (2016). Each block scans its part of a line and publishes the total.
// Other than there, the totals are always combined in the same order, so that the bits depend on the shape alone:
// blocks are in groups of as many as a block has threads. A block reads the totals of all blocks of its group before
// it, one with each thread, and that of all groups before, which the last block of the group before has published.
//
// A block waits for earlier ones only, which have begun: its number is not that of the hardware, but the number of
// blocks that have begun before it.
//
// The memory for this is words of 64 bits, which the runtime clears before a launch: a word has the total in its low
// half and 1 in its high half, so that one access tells whether the total is there and reads it.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "passes/kernel/KernelSchedule.h"

namespace spmdc {

inline constexpr int64_t kWordBytes = 8;

/// The words of one continued scan. Blocks are numbered line after line.
struct ContinuedScan {
  CumulativeOp op;
  int64_t blocksOfLine = 1, groupsOfLine = 1;
  int64_t firstBlock = 0; ///< A word for each block.
  int64_t firstGroup = 0; ///< A word for each group of each line: the total of all groups up to it.
};

struct ContinuedScans {
  /// `groupBlocks`: blocks of a group.
  ContinuedScans(const KernelSchedule &schedule, int64_t blocks, int64_t groupBlocks);

  /// True if the kernel has such a scan.
  static bool isIn(const KernelSchedule &schedule);

  const ContinuedScan *find(CumulativeOp op) const;

  llvm::SmallVector<ContinuedScan, 1> scans;
  int64_t groupBlocks = 1;
  int64_t words = 0; ///< The first one counts the blocks that have begun.
};

} // namespace spmdc
