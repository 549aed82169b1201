//===- DigitCounts.h - digit counts of a line -------------------*- C++ -*-===//
//
// The first kernel of a radix sort of long lines (RadixSort.cu): counts the digits of all passes, and reads the
// elements once.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/device/cuda/kernels/Rank.h"
#include "runtime/device/cuda/kernels/SortKey.h"

namespace spmd::cuda {

/// Several counters for each digit in shared memory, because lanes often hit the same counter or its bank at once: the
/// first digit of floats is nearly always the same. 32 KiB in total; with 8-bit keys each lane has its own counters.
template <typename Key> constexpr uint32_t kCopies = 32 / sizeof(Key);

/// Indexed by pass, digit and copy.
template <typename Key> using DigitBins = uint32_t[sizeof(Key)][kDigitValues * kCopies<Key>];

/// Adds the digits of elements [begin, end) of a line to counts[line][pass][digit].
template <typename Key>
SPMD_DEVICE void countDigits(const Key *elements, uint64_t order, Key infinity, Lines lines, int64_t passes,
                             int64_t chunk, int64_t lineCount, uint32_t *allCounts, DigitBins<Key> &bins) {
  constexpr uint32_t kPasses = sizeof(Key), kBins = kDigitValues * kCopies<Key>;
  constexpr int kLoads = 8;
  for (uint32_t i = threadIndex(); i < kPasses * kBins; i += kBlockThreads)
    bins[0][i] = 0;
  syncBlock();
  Quotient at = divide(blockIndex(), lineCount);
  int64_t line = at.remainder, begin = at.quotient * chunk;
  int64_t end = begin + chunk < lines.size ? begin + chunk : lines.size;
  const Key *mine = elements + lines.startOf(line);
  uint32_t copy = laneIndex() % kCopies<Key>;
  auto count = [&](Key key) {
#pragma unroll
    for (uint32_t pass = 0; pass < kPasses; ++pass)
      if (pass < passes)
        addAtomically(&bins[pass][digitOf(key, pass * kDigitBits) * kCopies<Key> + copy], 1u);
  };
  int64_t first = begin + threadIndex();
  Key keys[kLoads];
  for (; first + (kLoads - 1) * kBlockThreads < end; first += kLoads * kBlockThreads) {
    const Key *at = mine + first * lines.inner;
#pragma unroll
    for (int j = 0; j < kLoads; ++j, at += kBlockThreads * lines.inner)
      keys[j] = *at;
    makeKeys(keys, order, infinity);
#pragma unroll
    for (int j = 0; j < kLoads; ++j)
      count(keys[j]);
  }
  for (; first < end; first += kBlockThreads) {
    Key rest[] = {mine[first * lines.inner]};
    makeKeys(rest, order, infinity);
    count(rest[0]);
  }
  syncBlock();
  uint32_t *counts = allCounts + line * passes * kDigitValues;
  for (uint32_t pass = 0; pass < passes; ++pass) {
    uint32_t sum = 0;
#pragma unroll
    for (uint32_t i = 0; i < kCopies<Key>; ++i)
      sum += bins[pass][threadIndex() * kCopies<Key> + i];
    if (sum)
      addAtomically(&counts[pass * kDigitValues + threadIndex()], sum);
  }
}

} // namespace spmd::cuda
