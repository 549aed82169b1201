//===- RadixPass.h - one pass of a radix sort of long lines -----*- C++ -*-===//
//
// A stable LSD radix sort, as in Onesweep (Rank.h names the paper): DigitCounts.cu counts the digits of all passes,
// then each pass reads its elements once and writes them once. A line consists of tiles, one per block. A tile finds
// the number of elements with a digit in earlier tiles by looking back: each tile publishes its own counts, and then
// their sum with those of all earlier tiles. A block draws the number of its tile when it starts, so all earlier tiles
// are done or running: no block waits for one that is not resident.
//
// A pass in which all elements of a line have the same digit is skipped; the device detects that. So small integers in
// 32 or 64 bits take as many passes as they have digits that differ.
//
// The result does not depend on the order of blocks: the sort is stable, and a stable order is unique.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/device/cuda/kernels/Rank.h"
#include "runtime/device/cuda/kernels/SortKey.h"

namespace spmd::cuda {

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

/// The counts of digits, and the states of the tiles.
struct PassDigits {
  int64_t pass, passes, lineCount;
  const uint32_t *firsts;  ///< [line][pass][digit]: number of elements of the line with a smaller digit.
  const uint32_t *trivial; ///< [line]: a bit for each pass in which all elements have the same digit.
  uint64_t *states;        ///< [tile of a line][line][digit]
  uint32_t *tickets;       ///< [pass]

  /// The passes of this line that are not skipped: at least one, which writes the result.
  SPMD_DEVICE uint32_t usedPasses(int64_t line) const {
    uint32_t all = (1u << passes) - 1, used = all & ~trivial[line];
    return used ? used : 1;
  }
  SPMD_DEVICE uint32_t shift() const { return static_cast<uint32_t>(pass) * kDigitBits; }
};

/// The part of a line that a block sorts.
struct TilePlace {
  int64_t line, begin;
  uint32_t count; ///< Elements of the tile.
  uint32_t used;  ///< The passes of the line.
};

/// Shared memory of a pass. `Sorted` has the elements of the tile in the order of their digits.
template <typename Sorted> struct PassMemory {
  union {
    RankTables tables;
    Sorted sorted;
  };
  uint32_t fromTile[kDigitValues]; ///< The offset from an index in the tile to one in the line.
  uint32_t warpSums[kWarps];
  uint32_t tile;
};

/// Sorts one tile by the pass's digit. `Tile` is constructed from a TilePlace, and has these members, called in this
/// order; all items are in the order of Rank.h:
/// - loadDigits(): loads the items and returns their digits; beyond the end of the line: the largest digit, which comes
///   last and is not stored;
/// - place(ranks): writes the items to `memory.sorted`, and may begin to load what placeRest writes there;
/// - placeRest(ranks);
/// - store(): writes the tile to the result of the pass, with `memory.fromTile`.
template <int kItems, typename Tile, typename Memory, typename Arguments>
SPMD_DEVICE void runPass(const Arguments &arguments, int64_t size, const PassDigits &digits, Memory &memory) {
  constexpr int64_t kTileItems = kItems * kBlockThreads;
  uint32_t thread = threadIndex();
  if (thread == 0)
    memory.tile = addAtomically(&digits.tickets[digits.pass], 1u);
  clearTables(memory.tables);
  syncBlock();
  int64_t number = memory.tile;
  // Tiles of different lines alternate: neighboring lines share cache lines if lines are not contiguous.
  Quotient at = divide(number, digits.lineCount);
  int64_t line = at.remainder, begin = at.quotient * kTileItems;
  uint32_t used = digits.usedPasses(line);
  if (!(used >> digits.pass & 1))
    return;
  Tile tile(arguments,
            {line, begin, static_cast<uint32_t>(size - begin < kTileItems ? size - begin : kTileItems), used}, memory);
  uint32_t ranks[kItems] = {};
  auto mine = tile.loadDigits();
  rankInWarp(mine, memory.tables, ranks);
  syncBlock();
  uint32_t total = sumOverWarps(memory.tables);
  uint64_t *state = digits.states + number * kDigitValues + thread;
  uint32_t firstOfLine = digits.firsts[(line * digits.passes + digits.pass) * kDigitValues + thread];
  bool isFirst = at.quotient == 0;
  publish(state, digits.pass, isFirst ? kFullSum : kOwnSum, isFirst ? firstOfLine + total : total);
  uint32_t firstOfTile = sumOfThreadsBelow(total, memory.warpSums);
  storeFirsts(firstOfTile, memory.tables);
  syncBlock();
  finishRanks(mine, memory.tables, ranks);
  syncBlock();
  tile.place(ranks);
  uint32_t before = firstOfLine;
  if (!isFirst) {
    before = lookBack(state, digits.lineCount, digits.pass);
    publish(state, digits.pass, kFullSum, before + total);
  }
  tile.placeRest(ranks);
  memory.fromTile[thread] = before - firstOfTile;
  syncBlock();
  tile.store();
}

} // namespace spmd::cuda
