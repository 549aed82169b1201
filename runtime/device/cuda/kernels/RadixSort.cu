//===- RadixSort.cu - radix sort of positions of long lines ---------------===//
//
// Sorts pairs of key and position along lines (RadixPass.h). The result has the positions, and the keys if they are
// needed.
//
// Compiled once for each size of keys: SPMD_BITS is 8, 16, 32 or 64.
//
//===----------------------------------------------------------------------===//

#include "runtime/device/cuda/kernels/RadixPass.h"

namespace spmd::cuda {
namespace {

using Key = KeyOfBits<SPMD_BITS>;
constexpr int kItems = sortItems(SPMD_BITS);

struct SortedPairs {
  Key keys[kItems * kBlockThreads];
  uint32_t positions[kItems * kBlockThreads];
};

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
  PassDigits digits;

  SPMD_DEVICE PassArrays arraysOf(uint32_t used) const {
    uint32_t before = used & ((1u << digits.pass) - 1), turn = static_cast<uint32_t>(__builtin_popcount(before)) % 2;
    bool isFirst = before == 0, isLast = used >> digits.pass == 1;
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

using Memory = PassMemory<SortedPairs>;

class Tile {
public:
  SPMD_DEVICE Tile(const SortArguments &sort, const TilePlace &place, Memory &memory)
      : a(sort.arraysOf(place.used)), at(place), memory(memory), infinity(sort.infinity), shift(sort.digits.shift()),
        first(warpIndex() * kItems * kWarp + laneIndex()) {}

  SPMD_DEVICE DigitsOfKeys<kItems, Key> loadDigits() {
    const Key *from = a.keys + a.from.startOf(at.line) + (at.begin + first) * a.from.inner;
    if (isPlain()) {
#pragma unroll
      for (int j = 0; j < kItems; ++j)
        keys[j] = from[j * kWarp];
      makeKeys(keys, a.order, infinity);
      return {keys, shift};
    }
#pragma unroll
    for (int j = 0; j < kItems; ++j, from += kWarp * a.from.inner)
      keys[j] = first + j * kWarp < at.count ? *from : Key(0);
    makeKeys(keys, a.order, infinity);
#pragma unroll
    for (int j = 0; j < kItems; ++j)
      keys[j] = first + j * kWarp < at.count ? keys[j] : static_cast<Key>(~Key(0));
    return {keys, shift};
  }

  /// Positions are loaded here, where the keys are out of the registers, and used after looking back.
  SPMD_DEVICE void place(const uint32_t (&ranks)[kItems]) {
#pragma unroll
    for (int j = 0; j < kItems; ++j)
      memory.sorted.keys[ranks[j]] = keys[j];
    loadPositions();
  }
  SPMD_DEVICE void placeRest(const uint32_t (&ranks)[kItems]) {
#pragma unroll
    for (int j = 0; j < kItems; ++j)
      memory.sorted.positions[ranks[j]] = positions[j];
  }

  /// Elements of one digit go to neighboring places.
  SPMD_DEVICE void store() const {
    uint32_t thread = threadIndex();
    int64_t start = a.to.startOf(at.line);
    uint32_t places[kItems];
    auto placeOf = [&](uint32_t slot, Key key) { return memory.fromTile[digitOf(key, shift)] + slot; };
    if (isPlain()) {
      auto *newPositions = static_cast<uint32_t *>(a.newPositions) + start;
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
        newPositions[places[j]] = memory.sorted.positions[thread + j * kBlockThreads];
      return;
    }
    for (uint32_t slot = thread; slot < at.count; slot += kBlockThreads) {
      Key key = memory.sorted.keys[slot];
      int64_t place = start + placeOf(slot, key) * a.to.inner;
      if (a.newKeys)
        a.newKeys[place] = key;
      storePosition(a.newPositions, place, memory.sorted.positions[slot], a.positionBytes);
    }
  }

private:
  /// Whether the tile is full, elements and positions are contiguous, and positions have 32 bits. Then no access needs
  /// a condition or a multiplication.
  SPMD_DEVICE bool isPlain() const {
    return at.count == kItems * kBlockThreads && a.from.inner == 1 && a.to.inner == 1 && a.positionBytes == 4;
  }

  SPMD_DEVICE void loadPositions() {
    if (!a.positions) {
#pragma unroll
      for (int j = 0; j < kItems; ++j)
        positions[j] = static_cast<uint32_t>(at.begin) + first + j * kWarp;
      return;
    }
    const uint32_t *from = a.positions + at.line * a.from.size + at.begin + first;
    if (isPlain()) {
#pragma unroll
      for (int j = 0; j < kItems; ++j)
        positions[j] = from[j * kWarp];
      return;
    }
#pragma unroll
    for (int j = 0; j < kItems; ++j)
      positions[j] = first + j * kWarp < at.count ? from[j * kWarp] : 0;
  }

  const PassArrays a;
  const TilePlace at;
  Memory &memory;
  const Key infinity;
  const uint32_t shift, first;
  Key keys[kItems];
  uint32_t positions[kItems];
};

} // namespace

/// One block per line and tile.
SPMD_KERNEL(3)
spmd_sort_pass(const Key *elements, Key *sortedKeys, void *sortedPositions, int64_t positionBytes, Key *keys0,
               Key *keys1, uint32_t *positions0, uint32_t *positions1, uint64_t order, uint64_t infinity, int64_t size,
               int64_t fromInner, int64_t toInner, int64_t pass, int64_t passes, int64_t lineCount,
               const uint32_t *firsts, const uint32_t *trivial, uint64_t *states, uint32_t *tickets) {
  static SPMD_SHARED Memory memory;
  SortArguments sort{elements,
                     sortedKeys,
                     sortedPositions,
                     positionBytes,
                     keys0,
                     keys1,
                     positions0,
                     positions1,
                     order,
                     static_cast<Key>(infinity),
                     Lines{size, fromInner},
                     Lines{size, toInner},
                     {pass, passes, lineCount, firsts, trivial, states, tickets}};
  runPass<kItems, Tile>(sort, size, sort.digits, memory);
}

} // namespace spmd::cuda
