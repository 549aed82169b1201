//===- DigitCounts.cu - digit counts of lines -----------------------------===//
//
// The first kernels of a radix sort of long lines (RadixSort.cu, ValueSort.cu): they count the digits of all passes,
// and read the elements once.
//
// Compiled once for each size of keys: SPMD_BITS is 8, 16, 32 or 64.
//
//===----------------------------------------------------------------------===//

#include "runtime/device/cuda/kernels/Rank.h"
#include "runtime/device/cuda/kernels/SortKey.h"

namespace spmd::cuda {
namespace {

using Key = KeyOfBits<SPMD_BITS>;

/// Several counters for each digit in shared memory, because lanes often hit the same counter or its bank at once: the
/// first digit of floats is nearly always the same. 32 KiB in total; with 8-bit keys each lane has its own counters.
constexpr uint32_t kCopies = 32 / sizeof(Key);

/// Indexed by pass, digit and copy.
using DigitBins = uint32_t[sizeof(Key)][kDigitValues * kCopies];

/// Adds the digits of elements [begin, end) of a line to counts[line][pass][digit].
SPMD_DEVICE void countDigits(const Key *elements, uint64_t order, Key infinity, Lines lines, int64_t passes,
                             int64_t chunk, int64_t lineCount, uint32_t *allCounts, DigitBins &bins) {
  constexpr uint32_t kPasses = sizeof(Key), kBins = kDigitValues * kCopies;
  constexpr int kLoads = 8;
  for (uint32_t i = threadIndex(); i < kPasses * kBins; i += kBlockThreads)
    bins[0][i] = 0;
  syncBlock();
  Quotient at = divide(blockIndex(), lineCount);
  int64_t line = at.remainder, begin = at.quotient * chunk;
  int64_t end = begin + chunk < lines.size ? begin + chunk : lines.size;
  const Key *mine = elements + lines.startOf(line);
  uint32_t copy = laneIndex() % kCopies;
  auto count = [&](Key key) {
#pragma unroll
    for (uint32_t pass = 0; pass < kPasses; ++pass)
      if (pass < passes)
        addAtomically(&bins[pass][digitOf(key, pass * kDigitBits) * kCopies + copy], 1u);
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
    for (uint32_t i = 0; i < kCopies; ++i)
      sum += bins[pass][threadIndex() * kCopies + i];
    if (sum)
      addAtomically(&counts[pass * kDigitValues + threadIndex()], sum);
  }
}

} // namespace

/// One block per line and `chunk` elements.
SPMD_KERNEL(1)
spmd_sort_count(const Key *elements, uint64_t order, uint64_t infinity, int64_t size, int64_t inner, int64_t passes,
                int64_t chunk, int64_t lineCount, uint32_t *counts) {
  static SPMD_SHARED DigitBins bins;
  countDigits(elements, order, static_cast<Key>(infinity), Lines{size, inner}, passes, chunk, lineCount, counts, bins);
}

/// Replaces the digit counts of a line and pass by prefix sums, and records passes in which all elements have the same
/// digit. One block per line and pass.
SPMD_KERNEL(1) spmd_sort_sum(uint32_t *counts, int64_t size, int64_t passes, uint32_t *trivial) {
  static SPMD_SHARED uint32_t sums[kWarps];
  uint32_t *mine = counts + int64_t(blockIndex()) * kDigitValues + threadIndex();
  Quotient at = divide(blockIndex(), passes);
  if (*mine == size)
    __atomic_fetch_or(&trivial[at.quotient], 1u << at.remainder, __ATOMIC_RELAXED);
  *mine = sumOfThreadsBelow(*mine, sums);
}

} // namespace spmd::cuda
