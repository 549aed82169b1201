//===- ValueSort.cu - radix sort of the values of long lines --------------===//
//
// Sorts the elements of lines themselves, without positions (RadixPass.h): half of the memory traffic, and no gather. A
// key does not tell the elements with it apart: zeros of both signs may be equal, and all NaN. So the passes move
// elements, and make the key of each one again.
//
// Compiled once for each size of elements: SPMD_BITS is 8, 16, 32 or 64.
//
//===----------------------------------------------------------------------===//

#include "runtime/device/cuda/kernels/RadixPass.h"

namespace spmd::cuda {
namespace {

using Key = KeyOfBits<SPMD_BITS>;
constexpr int kItems = sortItems(SPMD_BITS);

struct SortedValues {
  Key values[kItems * kBlockThreads];
};
using Memory = PassMemory<SortedValues>;

/// The digits of a thread's items, four in a word: they stay in registers beside the items.
struct PackedDigits {
  uint32_t words[kItems / 4];

  SPMD_DEVICE uint32_t operator[](int j) const { return words[j / 4] >> j % 4 * kDigitBits & (kDigitValues - 1); }
  /// As DigitsOfKeys::recompute.
  SPMD_DEVICE PackedDigits recompute() const {
    PackedDigits digits;
#pragma unroll
    for (int i = 0; i < kItems / 4; ++i)
      digits.words[i] = readLane(words[i], laneIndex());
    return digits;
  }
};

struct SortArguments {
  const Key *elements;
  Key *result, *scratch;
  uint64_t order;
  Key infinity;
  Lines lines; ///< Of the elements and the result; those in scratch memory are contiguous.
  PassDigits digits;
};

/// Passes write to the result and to scratch memory in turn, and the last one to the result. Addresses are found where
/// they are used: registers limit the number of resident blocks.
class Tile {
public:
  SPMD_DEVICE Tile(const SortArguments &sort, const TilePlace &place, Memory &memory)
      : sort(sort), at(place), memory(memory) {}

  SPMD_DEVICE PackedDigits loadDigits() {
    uint32_t before = at.used & ((1u << sort.digits.pass) - 1), first = warpIndex() * kItems * kWarp + laneIndex();
    const Key *from = before == 0 ? sort.elements : isToResult() ? sort.scratch : sort.result;
    Lines lines{sort.lines.size, before != 0 && isToResult() ? 1 : sort.lines.inner};
    from += lines.startOf(at.line) + (at.begin + first) * lines.inner;
    if (isFull() && lines.inner == 1) {
#pragma unroll
      for (int j = 0; j < kItems; ++j)
        values[j] = from[j * kWarp];
    } else {
#pragma unroll
      for (int j = 0; j < kItems; ++j, from += kWarp * lines.inner)
        values[j] = first + j * kWarp < at.count ? *from : Key(0);
    }
    Key keys[kItems];
#pragma unroll
    for (int j = 0; j < kItems; ++j)
      keys[j] = values[j];
    makeKeys(keys, sort.order, sort.infinity);
    PackedDigits digits = {};
#pragma unroll
    for (int j = 0; j < kItems; ++j) {
      uint32_t digit = first + j * kWarp < at.count ? digitOf(keys[j], sort.digits.shift()) : kDigitValues - 1;
      digits.words[j / 4] |= digit << j % 4 * kDigitBits;
    }
    return digits;
  }

  SPMD_DEVICE void place(const uint32_t (&ranks)[kItems]) {
#pragma unroll
    for (int j = 0; j < kItems; ++j)
      memory.sorted.values[ranks[j]] = values[j];
  }
  SPMD_DEVICE void placeRest(const uint32_t (&)[kItems]) {}

  /// Elements of one digit go to neighboring places.
  SPMD_DEVICE void store() {
    Lines lines{sort.lines.size, isToResult() ? sort.lines.inner : 1};
    Key *to = (isToResult() ? sort.result : sort.scratch) + lines.startOf(at.line);
    uint32_t thread = threadIndex(), shift = sort.digits.shift();
    if (isFull() && lines.inner == 1) {
      Key keys[kItems];
#pragma unroll
      for (int j = 0; j < kItems; ++j)
        keys[j] = values[j] = memory.sorted.values[thread + j * kBlockThreads];
      makeKeys(keys, sort.order, sort.infinity);
#pragma unroll
      for (int j = 0; j < kItems; ++j)
        to[memory.fromTile[digitOf(keys[j], shift)] + thread + j * kBlockThreads] = values[j];
      return;
    }
    for (uint32_t slot = thread; slot < at.count; slot += kBlockThreads) {
      Key value = memory.sorted.values[slot], key[] = {value};
      makeKeys(key, sort.order, sort.infinity);
      to[(memory.fromTile[digitOf(key[0], shift)] + slot) * lines.inner] = value;
    }
  }

private:
  /// Then no access to a contiguous line needs a condition.
  SPMD_DEVICE bool isFull() const { return at.count == kItems * kBlockThreads; }
  SPMD_DEVICE bool isToResult() const { return __builtin_popcount(at.used >> sort.digits.pass >> 1) % 2 == 0; }

  const SortArguments &sort;
  const TilePlace at;
  Memory &memory;
  Key values[kItems];
};

} // namespace

/// One block per line and tile.
SPMD_KERNEL(3)
spmd_sort_values(const Key *elements, Key *result, Key *scratch, uint64_t order, uint64_t infinity, int64_t size,
                 int64_t inner, int64_t pass, int64_t passes, int64_t lineCount, const uint32_t *firsts,
                 const uint32_t *trivial, uint64_t *states, uint32_t *tickets) {
  static SPMD_SHARED Memory memory;
  SortArguments sort{elements,
                     result,
                     scratch,
                     order,
                     static_cast<Key>(infinity),
                     Lines{size, inner},
                     {pass, passes, lineCount, firsts, trivial, states, tickets}};
  runPass<kItems, Tile>(sort, size, sort.digits, memory);
}

} // namespace spmd::cuda
