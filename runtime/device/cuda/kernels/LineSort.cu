//===- LineSort.cu - sorts of short lines ---------------------------------===//
//
// A warp sorts lines of up to 32 elements in registers, several lines at once if they are shorter. A block sorts lines
// of up to 4096 elements in shared memory, with the ranking of long lines (Rank.h). Both read and write a line once.
//
// Compiled once for each size of keys: SPMD_BITS is 8, 16, 32 or 64.
//
//===----------------------------------------------------------------------===//

#include "runtime/device/cuda/kernels/Rank.h"
#include "runtime/device/cuda/kernels/SortKey.h"

namespace spmd::cuda {
namespace {

using Key = KeyOfBits<SPMD_BITS>;

struct LineArguments {
  const Key *elements;
  Key *newKeys; ///< May be null, and so may the others.
  Key *values;  ///< The sorted elements.
  void *positions;
  int64_t positionBytes;
  uint64_t order;
  Key infinity;
  Lines from, to;
  int64_t lines;
};

template <int kItems> struct LineMemory {
  union {
    RankTables tables;
    struct {
      Key keys[kItems * kBlockThreads];
      uint16_t positions[kItems * kBlockThreads];
    } sorted;
  };
  uint32_t warpSums[kWarps];
};

/// Stores what was at `position` of the line, and is now at `place` of the results. A value is read again, because its
/// key does not tell zeros and NaN apart: the line is in the cache.
SPMD_DEVICE void storeSorted(const LineArguments &a, const Key *line, int64_t place, Key key, uint32_t position) {
  if (a.newKeys)
    a.newKeys[place] = key;
  if (a.values)
    a.values[place] = line[position * a.from.inner];
  if (a.positions)
    storePosition(a.positions, place, position, a.positionBytes);
}

/// Sorts a line that is no longer than the block's items, by `passes` digits.
template <int kItems>
SPMD_DEVICE void sortLine(const LineArguments &a, int64_t line, int64_t passes, LineMemory<kItems> &memory) {
  auto size = static_cast<uint32_t>(a.from.size);
  uint32_t thread = threadIndex(), first = warpIndex() * kItems * kWarp + laneIndex();
  const Key *start = a.elements + a.from.startOf(line), *from = start + first * a.from.inner;
  // Beyond the end of the line: keys that come last, and positions that come after all others.
  Key keys[kItems];
  // The position in the high half, and its destination in the low half: registers limit the number of resident blocks.
  uint32_t places[kItems];
#pragma unroll
  for (int j = 0; j < kItems; ++j, from += kWarp * a.from.inner) {
    uint32_t i = first + j * kWarp;
    keys[j] = i < size ? *from : Key(0);
    places[j] = i << 16;
  }
  makeKeys(keys, a.order, a.infinity);
#pragma unroll
  for (int j = 0; j < kItems; ++j)
    keys[j] = first + j * kWarp < size ? keys[j] : static_cast<Key>(~Key(0));
  for (int64_t pass = 0;;) {
    DigitsOfKeys<kItems, Key> digits{keys, static_cast<uint32_t>(pass) * kDigitBits};
    syncBlock();
    clearTables(memory.tables);
    syncBlock();
    rankInWarp(digits, memory.tables, places);
    syncBlock();
    uint32_t total = sumOverWarps(memory.tables);
    storeFirsts(sumOfThreadsBelow(total, memory.warpSums), memory.tables);
    syncBlock();
    finishRanks(digits, memory.tables, places);
    syncBlock();
#pragma unroll
    for (int j = 0; j < kItems; ++j) {
      memory.sorted.keys[places[j] & 0xffff] = keys[j];
      memory.sorted.positions[places[j] & 0xffff] = static_cast<uint16_t>(places[j] >> 16);
    }
    syncBlock();
    if (++pass == passes)
      break;
#pragma unroll
    for (int j = 0; j < kItems; ++j) {
      keys[j] = memory.sorted.keys[first + j * kWarp];
      places[j] = static_cast<uint32_t>(memory.sorted.positions[first + j * kWarp]) << 16;
    }
  }
  int64_t to = a.to.startOf(line);
  for (uint32_t slot = thread; slot < size; slot += kBlockThreads)
    storeSorted(a, start, to + slot * a.to.inner, memory.sorted.keys[slot], memory.sorted.positions[slot]);
}

SPMD_DEVICE Key neighborKey(Key key, uint32_t mask) {
  if constexpr (sizeof(Key) == 8)
    return static_cast<uint64_t>(readNeighbor(static_cast<uint32_t>(key >> 32), mask)) << 32 |
           readNeighbor(static_cast<uint32_t>(key), mask);
  else
    return static_cast<Key>(readNeighbor(key, mask));
}

/// Batcher's bitonic network over groups of `width` lanes, a power of two. Pairs of key and position are all different,
/// so the result is that of a stable sort.
SPMD_DEVICE void sortInWarp(Key &key, uint32_t &position, uint32_t width) {
  uint32_t lane = laneIndex();
  for (uint32_t size = 2; size <= width; size *= 2)
    for (uint32_t distance = size / 2; distance > 0; distance /= 2) {
      Key otherKey = neighborKey(key, distance);
      uint32_t otherPosition = readNeighbor(position, distance);
      bool isAscending = !(lane & size) || size == width, isLower = !(lane & distance);
      bool isGreater = key > otherKey || (key == otherKey && position > otherPosition);
      if (isGreater == (isAscending == isLower)) {
        key = otherKey;
        position = otherPosition;
      }
    }
}

SPMD_DEVICE void sortWarpLines(const LineArguments &a, uint32_t width, int64_t blocks) {
  uint32_t position = laneIndex() % width;
  int64_t groups = kBlockThreads / width, first = static_cast<int64_t>(blockIndex()) * groups;
  for (; first < a.lines; first += blocks * groups) {
    int64_t line = first + threadIndex() / width;
    bool isInside = line < a.lines && position < a.from.size;
    const Key *start = a.elements + a.from.startOf(line);
    Key own[] = {isInside ? start[position * a.from.inner] : Key(0)};
    makeKeys(own, a.order, a.infinity);
    Key key = isInside ? own[0] : static_cast<Key>(~Key(0));
    uint32_t origin = position;
    sortInWarp(key, origin, width);
    if (isInside)
      storeSorted(a, start, a.to.startOf(line) + position * a.to.inner, key, origin);
  }
}

} // namespace

// spmd_sort_lines_ITEMS: `blocks` blocks, lines of at most 256 * ITEMS elements.
#define SPMD_SORT_LINES(items, most)                                                                                   \
  SPMD_KERNEL(most)                                                                                                    \
  spmd_sort_lines_##items(const Key *elements, Key *newKeys, Key *values, void *positions, int64_t positionBytes,      \
                          uint64_t order, uint64_t infinity, int64_t size, int64_t fromInner, int64_t toInner,         \
                          int64_t lines, int64_t passes, int64_t blocks) {                                             \
    static SPMD_SHARED LineMemory<items> memory;                                                                       \
    for (int64_t line = blockIndex(); line < lines; line += blocks)                                                    \
      sortLine<items>({elements, newKeys, values, positions, positionBytes, order, static_cast<Key>(infinity),         \
                       Lines{size, fromInner}, Lines{size, toInner}, lines},                                           \
                      line, passes, memory);                                                                           \
  }
SPMD_SORT_LINES(1, 3)
SPMD_SORT_LINES(4, 3)
#if SPMD_BITS == 64 // sortItems
SPMD_SORT_LINES(8, 3)
#else
SPMD_SORT_LINES(16, 2) // 3 would spill a register.
#endif

/// `blocks` blocks, lines of at most `width` elements, a power of two up to 32.
SPMD_KERNEL(4)
spmd_sort_warps(const Key *elements, Key *newKeys, Key *values, void *positions, int64_t positionBytes, uint64_t order,
                uint64_t infinity, int64_t size, int64_t fromInner, int64_t toInner, int64_t lines, int64_t width,
                int64_t blocks) {
  sortWarpLines({elements, newKeys, values, positions, positionBytes, order, static_cast<Key>(infinity),
                 Lines{size, fromInner}, Lines{size, toInner}, lines},
                static_cast<uint32_t>(width), blocks);
}

} // namespace spmd::cuda
