//===- MatrixFillers.h - factors of products in shared memory ---*- C++ -*-===//
//
// A block brings both sides of its tile to shared memory in steps of 64 bytes along k, in the order in which matrix
// units read them: by asynchronous copies, or, where the units' order is not that of memory, through registers.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/device/cuda/kernels/MatrixUnits.h"

#include <type_traits>

namespace spmd::cuda {

/// Bytes of a copy, and of a row of a matrix.
constexpr uint32_t kChunkBytes = 16;
template <typename Element> constexpr uint32_t kChunk = kChunkBytes / sizeof(Element);
/// Steps of k in a buffer: those of two parts, which a matrix unit multiplies. With it, three buffers of tiles of 128
/// are the 48 KiB of shared memory that a kernel may declare.
constexpr uint32_t kBuffers = 3, kPartsOfBuffer = 2;
template <typename Element> constexpr uint32_t kDepth = kPartsOfBuffer * 32 / sizeof(Element);
/// One side of a product: `places` rows of the left side, or columns of the right one, and `depth` steps of k. The
/// lines in memory are places with their steps of k, or, if the side is across, steps of k with all places.
template <typename Element> struct Side {
  const Element *data;
  int64_t places, depth;
};

/// The places of the tile that begins at `first`, from `place` of it on; negative behind the last one.
template <uint32_t tile> SPMD_DEVICE int32_t countPlaces(int64_t places, int64_t first, uint32_t place) {
  return static_cast<int32_t>(places - first < tile ? places - first : tile) - static_cast<int32_t>(place);
}

/// A buffer of `tile` places and kDepth steps of k in lines of chunks. The order of chunks changes from line to line,
/// so that eight lines of a matrix are in different banks.
template <typename Element, uint32_t tile, bool isAcross> struct Buffer {
  static constexpr uint32_t kLine = (isAcross ? tile : kDepth<Element>) / kChunk<Element>,
                            kLines = isAcross ? kDepth<Element> : tile;
  alignas(16) Element values[tile * kDepth<Element>];

  static SPMD_DEVICE uint32_t findChunk(uint32_t line, uint32_t chunk) {
    return line * kLine + (chunk ^ (isAcross ? line % 8 : (line / 2 ^ line / 8) % 4));
  }
  SPMD_DEVICE SharedAddress find(uint32_t line, uint32_t chunk) const {
    return toShared(values + findChunk(line, chunk) * kChunk<Element>);
  }
};

/// Fills buffers with the next steps of k, and zeros beyond the ends of the side, in the order of memory. All chunks of
/// a thread are at equal distances, in memory and in the buffer, so one pointer suffices.
template <typename Element, uint32_t tile, bool isAcross, bool isAligned> class Filler {
public:
  using Target = Buffer<Element, tile, isAcross>;

  SPMD_DEVICE Filler(const Side<Element> &side, int64_t first) {
    uint32_t line = threadIndex() / Target::kLine, chunk = threadIndex() % Target::kLine;
    uint32_t place = isAcross ? chunk * kChunk<Element> : line;
    step = isAcross ? line : chunk * kChunk<Element>;
    int64_t lineLength = isAcross ? side.places : side.depth;
    placesLeft = countPlaces<tile>(side.places, first, place);
    source = side.data + (isAcross ? step * lineLength + first + place : (first + place) * lineLength + step);
    distance = kLineStep * lineLength;
    target = Target::findChunk(line, chunk) * kChunk<Element>;
  }

  /// `depth` steps of k are left for this buffer, at most kDepth.
  SPMD_DEVICE void start(Target &buffer, int32_t depth) {
    int32_t depthLeft = depth - static_cast<int32_t>(step);
    const Element *from = source;
#pragma unroll
    for (int32_t i = 0; i < kCount; ++i, from += distance) {
      int32_t rest = isAcross ? placesLeft : depthLeft;
      bool isInside = i * kLineStep < (isAcross ? depthLeft : placesLeft) && rest > 0;
      constexpr auto most = static_cast<int32_t>(kChunk<Element>);
      auto count = static_cast<uint32_t>(!isInside ? 0 : rest < most ? rest : most);
      Element *to = buffer.values + target + i * kBlockThreads * kChunk<Element>;
      if (isAligned)
        startCopy(toShared(to), from, count * sizeof(Element));
      else
        copy(to, from, count);
    }
    source = isAcross ? from : source + kDepth<Element>;
  }
  /// Copies need no help.
  SPMD_DEVICE void fetch(uint32_t, int32_t) {}
  SPMD_DEVICE void store(Target &, uint32_t) {}

private:
  /// Lines from one chunk of a thread to the next.
  static constexpr int32_t kLineStep = kBlockThreads / Target::kLine, kCount = Target::kLines / kLineStep;
  static_assert(kLineStep % 32 == 0 || (isAcross && kLineStep % 8 == 0),
                "the chunks of a thread are in the same place of their lines");

  /// Lines that are no multiple of 16 bytes have no aligned chunks.
  static SPMD_DEVICE void copy(Element *target, const Element *source, uint32_t count) {
    typedef uint32_t Words __attribute__((ext_vector_type(4), aligned(16)));
    constexpr uint32_t inWord = 4 / sizeof(Element);
    Words words;
#pragma unroll
    for (uint32_t i = 0; i < kChunk<Element>; i += inWord) {
      uint32_t word = 0;
#pragma unroll
      for (uint32_t j = 0; j < inWord; ++j)
        word |= (i + j < count ? source[i + j] : 0u) << 32 / inWord * j;
      words[i / inWord] = word;
    }
    *reinterpret_cast<Words *>(target) = words;
  }

  const Element *source;
  int64_t distance;
  int32_t placesLeft;
  uint32_t step, target; ///< Of the first chunk, in a buffer.
};

/// The same for bytes of a side that is across: matrix units take their steps of k from adjacent bytes, so each thread
/// transposes squares of four places and four steps in registers. They arrive while the units multiply: a thread has
/// one square in each part of a buffer that the units multiply together, or one in all.
template <uint32_t tile, bool isAligned> class TransposingFiller {
public:
  using Target = Buffer<uint8_t, tile, /*isAcross=*/false>;

  SPMD_DEVICE TransposingFiller(const Side<uint8_t> &side, int64_t first) : lineLength(side.places) {
    // The squares of a warp are 32 places, which are a sector of memory, by 16 steps.
    uint32_t place = warpIndex() % kPlaceGroups * 32 + laneIndex() % 8 * 4;
    step = static_cast<int32_t>(warpIndex() / kPlaceGroups * 16 + laneIndex() / 8 * 4);
    placesLeft = countPlaces<tile>(side.places, first, place);
    source = side.data + step * lineLength + first + place;
    target = Target::findChunk(place, step / kChunkBytes) * kChunkBytes + step % kChunkBytes;
    if (placesLeft <= 0)
      step = kDepth<uint8_t>; // Behind all steps.
  }

  SPMD_DEVICE void start(Target &, int32_t) {}

  SPMD_DEVICE void fetch(uint32_t part, int32_t depth) {
    if (part >= kParts)
      return;
    int32_t linesLeft = depth - step - static_cast<int32_t>(part) * kStep;
    auto from = reinterpret_cast<uint64_t>(source);
    asm volatile("" : "+l"(from)); // Else the compiler keeps a pointer for each line.
#pragma unroll
    for (int32_t line = 0; line < 4; ++line, from += lineLength)
      words[line] = line < linesLeft ? load(from) : 0;
    source += kStep * lineLength;
  }

  SPMD_DEVICE void store(Target &buffer, uint32_t part) {
    if (part >= kParts)
      return;
    // Else the compiler permutes bytes, and so waits for them, before the units multiply.
    asm volatile("" : "+r"(words[0]), "+r"(words[1]), "+r"(words[2]), "+r"(words[3]));
    // Bytes 0 and 1, and 2 and 3, of two lines each; then of all four.
    uint32_t low[2] = {__nvvm_prmt(words[0], words[1], 0x5140), __nvvm_prmt(words[2], words[3], 0x5140)};
    uint32_t high[2] = {__nvvm_prmt(words[0], words[1], 0x7362), __nvvm_prmt(words[2], words[3], 0x7362)};
    uint32_t byPlace[4] = {__nvvm_prmt(low[0], low[1], 0x5410), __nvvm_prmt(low[0], low[1], 0x7632),
                           __nvvm_prmt(high[0], high[1], 0x5410), __nvvm_prmt(high[0], high[1], 0x7632)};
    // In the buffer's order of chunks: two lines below, or a part behind, a chunk's number has other bits.
#pragma unroll
    for (uint32_t j = 0; j < 4; ++j) {
      uint32_t at = (target ^ part * kStep ^ j / 2 * kChunkBytes) + j * kDepth<uint8_t>;
      *reinterpret_cast<uint32_t *>(buffer.values + at) = byPlace[j];
    }
  }

private:
  static constexpr uint32_t kPlaceGroups = tile / 32;
  /// Steps of k from one square of a thread to the next.
  static constexpr int32_t kStep = kBlockThreads / kWarp / kPlaceGroups * 16;
  static constexpr uint32_t kParts = kDepth<uint8_t> / kStep;
  static_assert(kParts <= kPartsOfBuffer);

  /// Bytes of four places in global memory; zeros behind the last one.
  SPMD_DEVICE uint32_t load(uint64_t from) const {
    if (isAligned)
      return *(__attribute__((address_space(1))) const uint32_t *)from;
    uint32_t word = 0;
#pragma unroll
    for (int32_t i = 0; i < 4; ++i)
      word |= (i < placesLeft ? ((__attribute__((address_space(1))) const uint8_t *)from)[i] : 0u) << 8 * i;
    return word;
  }

  const uint8_t *source;
  int64_t lineLength;
  int32_t placesLeft, step;
  uint32_t target;   ///< Of the first square, in a buffer.
  uint32_t words[4]; ///< The lines of a square.
};

template <typename Element, uint32_t tile, bool isAcross, bool isAligned>
using FillerOf = std::conditional_t<sizeof(Element) == 1 && isAcross, TransposingFiller<tile, isAligned>,
                                    Filler<Element, tile, isAcross, isAligned>>;

} // namespace spmd::cuda
