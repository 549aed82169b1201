//===- RadixSort.cu - radix sort of long lines ----------------------------===//
//
// A stable LSD radix sort of (key, position) along lines, as in Onesweep (Rank.h names the paper): one kernel counts
// the digits of all passes, then each pass reads its elements once and writes them once. A line consists of tiles, one
// per block. A tile finds the number of elements with a digit in earlier tiles by looking back: each tile publishes its
// own counts, and then their sum with those of all earlier tiles. A block draws the number of its tile when it starts,
// so all earlier tiles are done or running: no block waits for one that is not resident.
//
// A pass in which all elements of a line have the same digit is skipped; the device detects that. So small integers in
// 32 or 64 bits take as many passes as they have digits that differ.
//
// Compiled once for each size of keys: SPMD_BITS is 8, 16, 32 or 64.
//
// The result does not depend on the order of blocks: the sort is stable, and a stable order is unique.
//
//===----------------------------------------------------------------------===//

#include "runtime/device/cuda/kernels/DigitCounts.h"

namespace spmd::cuda {
namespace {

using Key = KeyOfBits<SPMD_BITS>;
constexpr int kItems = sortItems(SPMD_BITS);

/// The state of one digit of a tile: a sum in the low half; in the high half, the pass, and whether the sum is the
/// tile's own or starts at the beginning of the line. It is one word, so that it is read atomically, and need not be
/// cleared between passes.
enum : uint64_t { kOwnSum = 1, kFullSum = 2 };
SPMD_DEVICE void publish(uint64_t *state, uint64_t pass, uint64_t kind, uint32_t sum) {
  __atomic_store_n(state, ((pass + 1) << 2 | kind) << 32 | sum, __ATOMIC_RELAXED);
}

/// Returns the number of elements with this thread's digit in earlier tiles of the line, plus those with a smaller
/// digit anywhere in it. `state` is this tile's word of the digit.
SPMD_DEVICE uint32_t lookBack(const uint64_t *state, int64_t lineCount, uint64_t pass) {
  uint32_t sum = 0;
  int64_t stride = lineCount * kDigitValues;
  for (state -= stride;;) {
    uint64_t word = __atomic_load_n(state, __ATOMIC_RELAXED), kind = word >> 32;
    if (kind >> 2 != pass + 1)
      continue;
    sum += static_cast<uint32_t>(word);
    if ((kind & 3) == kFullSum)
      return sum;
    state -= stride;
  }
}

/// The input and output of a pass.
struct PassArrays {
  const Key *keys;
  const uint32_t *positions; ///< Null in the first pass: an element's position is its index.
  Key *newKeys;              ///< Null if keys are not needed any more.
  void *newPositions;
  int64_t positionBytes;
  uint64_t order;
  Lines from, to; ///< The same lines; those in scratch memory are contiguous.
};

struct SortArguments {
  const Key *elements;
  Key *sortedKeys; ///< May be null.
  void *sortedPositions;
  int64_t positionBytes;
  Key *keys0, *keys1; ///< Between passes, alternately.
  uint32_t *positions0, *positions1;
  uint64_t order;
  Key infinity;
  Lines from, to;
  int64_t pass, passes, lineCount;
  const uint32_t *firsts;  ///< [line][pass][digit]: number of elements of the line with a smaller digit.
  const uint32_t *trivial; ///< [line]: a bit for each pass in which all elements have the same digit.
  uint64_t *states;        ///< [tile of a line][line][digit]
  uint32_t *tickets;       ///< [pass]

  /// The passes of this line that are not skipped: at least one, for the positions.
  SPMD_DEVICE uint32_t usedPasses(int64_t line) const {
    uint32_t all = (1u << passes) - 1, used = all & ~trivial[line];
    return used ? used : 1;
  }
  SPMD_DEVICE PassArrays arraysOf(uint32_t used) const {
    uint32_t before = used & ((1u << pass) - 1), turn = static_cast<uint32_t>(__builtin_popcount(before)) % 2;
    bool isFirst = before == 0, isLast = used >> pass == 1;
    PassArrays a;
    a.keys = isFirst ? elements : turn ? keys0 : keys1;
    a.positions = isFirst ? nullptr : turn ? positions0 : positions1;
    a.newKeys = isLast ? sortedKeys : turn ? keys1 : keys0;
    a.newPositions = isLast ? sortedPositions : turn ? positions1 : positions0;
    a.positionBytes = isLast ? positionBytes : 4;
    a.order = isFirst ? order : uint64_t(kUnsignedKeys);
    a.from = {from.size, isFirst ? from.inner : 1};
    a.to = {to.size, isLast ? to.inner : 1};
    return a;
  }
};

struct PassMemory {
  union {
    RankTables tables;
    struct {
      Key keys[kItems * kBlockThreads];
      uint32_t positions[kItems * kBlockThreads];
    } sorted;
  };
  /// First index of the digit in the tile; then the offset from an index in the tile to one in the line.
  uint32_t firstOfDigit[kDigitValues];
  uint32_t warpSums[kWarps];
  uint32_t tile;
};

/// Whether the tile is full, elements and positions are contiguous, and positions have 32 bits. Then no access needs a
/// condition or a multiplication.
SPMD_DEVICE bool isPlain(const PassArrays &a, uint32_t count) {
  return count == kItems * kBlockThreads && a.from.inner == 1 && a.to.inner == 1 && a.positionBytes == 4;
}

/// Loads this thread's keys. Beyond the end of the line: the largest digit, which comes last and is not written.
SPMD_DEVICE void loadKeys(const PassArrays &a, Key infinity, int64_t line, int64_t begin, uint32_t first,
                          uint32_t count, Key (&keys)[kItems]) {
  const Key *from = a.keys + a.from.startOf(line) + (begin + first) * a.from.inner;
  if (isPlain(a, count)) {
#pragma unroll
    for (int j = 0; j < kItems; ++j)
      keys[j] = from[j * kWarp];
    makeKeys(keys, a.order, infinity);
    return;
  }
#pragma unroll
  for (int j = 0; j < kItems; ++j, from += kWarp * a.from.inner)
    keys[j] = first + j * kWarp < count ? *from : Key(0);
  makeKeys(keys, a.order, infinity);
#pragma unroll
  for (int j = 0; j < kItems; ++j)
    keys[j] = first + j * kWarp < count ? keys[j] : static_cast<Key>(~Key(0));
}

SPMD_DEVICE void loadPositions(const PassArrays &a, int64_t line, int64_t begin, uint32_t first, uint32_t count,
                               uint32_t (&positions)[kItems]) {
  if (!a.positions) {
#pragma unroll
    for (int j = 0; j < kItems; ++j)
      positions[j] = static_cast<uint32_t>(begin) + first + j * kWarp;
    return;
  }
  const uint32_t *from = a.positions + line * a.from.size + begin + first;
  if (isPlain(a, count)) {
#pragma unroll
    for (int j = 0; j < kItems; ++j)
      positions[j] = from[j * kWarp];
    return;
  }
#pragma unroll
  for (int j = 0; j < kItems; ++j)
    positions[j] = first + j * kWarp < count ? from[j * kWarp] : 0;
}

/// Writes the tile's elements, which are sorted: those of one digit go to neighboring positions.
SPMD_DEVICE void storeTile(const PassArrays &a, int64_t line, uint32_t count, uint32_t shift,
                           const PassMemory &memory) {
  uint32_t thread = threadIndex();
  int64_t start = a.to.startOf(line);
  uint32_t places[kItems];
  auto placeOf = [&](uint32_t slot, Key key) { return memory.firstOfDigit[digitOf(key, shift)] + slot; };
  if (isPlain(a, count)) {
    auto *positions = static_cast<uint32_t *>(a.newPositions) + start;
#pragma unroll
    for (int j = 0; j < kItems; ++j) {
      uint32_t slot = thread + j * kBlockThreads;
      Key key = memory.sorted.keys[slot];
      places[j] = placeOf(slot, key);
      if (a.newKeys)
        a.newKeys[start + places[j]] = key;
    }
#pragma unroll
    for (int j = 0; j < kItems; ++j)
      positions[places[j]] = memory.sorted.positions[thread + j * kBlockThreads];
    return;
  }
  for (uint32_t slot = thread; slot < count; slot += kBlockThreads) {
    Key key = memory.sorted.keys[slot];
    int64_t place = start + placeOf(slot, key) * a.to.inner;
    if (a.newKeys)
      a.newKeys[place] = key;
    storePosition(a.newPositions, place, memory.sorted.positions[slot], a.positionBytes);
  }
}

SPMD_DEVICE void sortTile(const SortArguments &sort, PassMemory &memory) {
  constexpr int64_t kTileItems = kItems * kBlockThreads;
  uint32_t thread = threadIndex(), shift = static_cast<uint32_t>(sort.pass) * kDigitBits;
  if (thread == 0)
    memory.tile = addAtomically(&sort.tickets[sort.pass], 1u);
  clearTables(memory.tables);
  syncBlock();
  int64_t tile = memory.tile;
  // Tiles of different lines alternate: neighboring lines share cache lines if lines are not contiguous.
  Quotient at = divide(tile, sort.lineCount);
  int64_t line = at.remainder, begin = at.quotient * kTileItems;
  uint32_t used = sort.usedPasses(line);
  if (!(used >> sort.pass & 1))
    return;
  PassArrays a = sort.arraysOf(used);
  auto count = static_cast<uint32_t>(a.from.size - begin < kTileItems ? a.from.size - begin : kTileItems);
  uint32_t first = warpIndex() * kItems * kWarp + laneIndex();

  Key keys[kItems];
  uint32_t ranks[kItems] = {};
  loadKeys(a, sort.infinity, line, begin, first, count, keys);
  rankInWarp(keys, shift, memory.tables, ranks);
  syncBlock();
  uint32_t total = sumOverWarps(memory.tables);
  uint64_t *state = sort.states + tile * kDigitValues + thread;
  uint32_t firstOfLine = sort.firsts[(line * sort.passes + sort.pass) * kDigitValues + thread];
  bool isFirst = at.quotient == 0;
  publish(state, sort.pass, isFirst ? kFullSum : kOwnSum, isFirst ? firstOfLine + total : total);
  uint32_t firstOfTile = sumOfThreadsBelow(total, memory.warpSums);
  memory.firstOfDigit[thread] = firstOfTile;
  syncBlock();
  finishRanks(keys, shift, memory.tables, memory.firstOfDigit, ranks);
  syncBlock();
#pragma unroll
  for (int j = 0; j < kItems; ++j)
    memory.sorted.keys[ranks[j]] = keys[j];
  // Loaded here, where the keys are out of the registers, and used after looking back.
  uint32_t positions[kItems];
  loadPositions(a, line, begin, first, count, positions);
  uint32_t before = firstOfLine;
  if (!isFirst) {
    before = lookBack(state, sort.lineCount, sort.pass);
    publish(state, sort.pass, kFullSum, before + total);
  }
#pragma unroll
  for (int j = 0; j < kItems; ++j)
    memory.sorted.positions[ranks[j]] = positions[j];
  memory.firstOfDigit[thread] = before - firstOfTile;
  syncBlock();
  storeTile(a, line, count, shift, memory);
}

} // namespace

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

/// One block per line and `chunk` elements.
SPMD_KERNEL(1)
spmd_sort_count(const Key *elements, uint64_t order, uint64_t infinity, int64_t size, int64_t inner, int64_t passes,
                int64_t chunk, int64_t lineCount, uint32_t *counts) {
  static SPMD_SHARED DigitBins<Key> bins;
  countDigits(elements, order, static_cast<Key>(infinity), Lines{size, inner}, passes, chunk, lineCount, counts, bins);
}

/// One block per line and tile.
SPMD_KERNEL(3)
spmd_sort_pass(const Key *elements, Key *sortedKeys, void *sortedPositions, int64_t positionBytes, Key *keys0,
               Key *keys1, uint32_t *positions0, uint32_t *positions1, uint64_t order, uint64_t infinity, int64_t size,
               int64_t fromInner, int64_t toInner, int64_t pass, int64_t passes, int64_t lineCount,
               const uint32_t *firsts, const uint32_t *trivial, uint64_t *states, uint32_t *tickets) {
  static SPMD_SHARED PassMemory memory;
  sortTile({elements, sortedKeys, sortedPositions, positionBytes, keys0, keys1, positions0, positions1, order,
            static_cast<Key>(infinity), Lines{size, fromInner}, Lines{size, toInner}, pass, passes, lineCount, firsts,
            trivial, states, tickets},
           memory);
}

} // namespace spmd::cuda
