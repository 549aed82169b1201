//===- Rank.h - ranks a block's elements by one digit -----------*- C++ -*-===//
//
// Ranks the elements that a block holds in registers, stably by one digit of their keys. Lane l of warp w holds, as
// item j, element (w * items + j) * 32 + l of the block: memory accesses are coalesced, and elements of one item are in
// the order of the lanes.
//
// Lanes of a warp with the same digit find each other by setting their bits in a word of shared memory (Adinets and
// Merrill, "Onesweep: A Faster Least Significant Digit Radix Sort for GPUs", 2022, and CUB's WARP_MATCH_ATOMIC_OR); the
// highest of these lanes counts for all.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/device/cuda/kernels/Intrinsics.h"

namespace spmd::cuda {

constexpr uint32_t kWarps = kBlockThreads / kWarp;

/// Shared memory of the ranking; both tables are free after `finishRanks` and the next syncBlock.
struct RankTables {
  uint32_t lanes[kWarps][kDigitValues];  ///< Bits of the lanes that have this digit in the current item.
  uint32_t counts[kWarps][kDigitValues]; ///< Elements of the warp with this digit so far.
};

SPMD_DEVICE void clearTables(RankTables &tables) {
#pragma unroll
  for (uint32_t warp = 0; warp < kWarps; ++warp) {
    tables.lanes[warp][threadIndex()] = 0;
    tables.counts[warp][threadIndex()] = 0;
  }
}

template <typename Key> SPMD_DEVICE uint32_t digitOf(Key key, uint32_t shift) {
  return static_cast<uint32_t>(key >> shift) % kDigitValues;
}

/// The digits of a thread's items: one digit of each key.
template <int kItems, typename Key> struct DigitsOfKeys {
  const Key (&keys)[kItems];
  uint32_t shift;

  SPMD_DEVICE uint32_t operator[](int j) const { return digitOf(keys[j], shift); }
  /// Returns the same digits, opaque to the compiler: it would keep what it has computed of each digit in a register.
  SPMD_DEVICE DigitsOfKeys recompute() const { return {keys, readLane(shift, 0)}; }
};

/// Sets ranks[j] to the number of elements of this warp with the same digit before item j. The tables must be zero, and
/// a syncBlock must follow before they are read.
template <int kItems, typename Digits>
SPMD_DEVICE void rankInWarp(const Digits &digits, RankTables &tables, uint32_t (&ranks)[kItems]) {
  uint32_t lane = laneIndex(), warp = warpIndex(), below = (1u << lane) - 1;
#pragma unroll
  for (int j = 0; j < kItems; ++j) {
    uint32_t digit = digits[j];
    uint32_t *lanes = &tables.lanes[warp][digit];
    __atomic_fetch_or(lanes, 1u << lane, __ATOMIC_RELAXED);
    syncWarp();
    uint32_t same = *lanes, leader = kWarp - 1 - static_cast<uint32_t>(__builtin_clz(same)), before = 0;
    if (lane == leader) {
      before = tables.counts[warp][digit];
      tables.counts[warp][digit] = before + static_cast<uint32_t>(__builtin_popcount(same));
    }
    before = readLane(before, leader);
    // All lanes have read the word by now, because they know their leader. But shuffles order no memory.
    syncWarp();
    if (lane == leader)
      *lanes = 0;
    syncWarp();
    ranks[j] += before + static_cast<uint32_t>(__builtin_popcount(same & below));
  }
}

/// Returns the number of elements of the block with this thread's digit. Call it after the syncBlock that follows
/// rankInWarp.
SPMD_DEVICE uint32_t sumOverWarps(const RankTables &tables) {
  uint32_t total = 0;
#pragma unroll
  for (uint32_t warp = 0; warp < kWarps; ++warp)
    total += tables.counts[warp][threadIndex()];
  return total;
}

/// Sets counts[w][d] to the index in the block's sorted order of the first element of warp w with digit d. `first` is
/// the number of elements with a digit below this thread's. A syncBlock must follow. The counts are read twice:
/// registers limit the number of resident blocks.
SPMD_DEVICE void storeFirsts(uint32_t first, RankTables &tables) {
#pragma unroll
  for (uint32_t warp = 0; warp < kWarps; ++warp) {
    uint32_t count = tables.counts[warp][threadIndex()];
    tables.counts[warp][threadIndex()] = first;
    first += count;
  }
}

/// Converts ranks[j] to the index of item j in the block's sorted order.
template <int kItems, typename Digits>
SPMD_DEVICE void finishRanks(const Digits &given, const RankTables &tables, uint32_t (&ranks)[kItems]) {
  Digits digits = given.recompute();
#pragma unroll
  for (int j = 0; j < kItems; ++j)
    ranks[j] += tables.counts[warpIndex()][digits[j]];
}

} // namespace spmd::cuda
