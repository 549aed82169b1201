//===- MultiplyHalves.cu - matrix products of 16-bit floats ---------------===//
//
// For machines without cuBLASLt, on the matrix units of sm_80 and newer. A block computes a square tile of the result,
// and each of its eight warps half of the rows and a quarter of the columns. Both sides go through shared memory in
// steps of 32 along k, in the order in which they are in memory; three buffers are filled ahead by asynchronous copies.
// Sums are in f32, in the order of k, and rounded once.
//
// Compiled once for each pair of types: SPMD_BF16 (or f16), SPMD_OUT.
//
//===----------------------------------------------------------------------===//

#include "runtime/device/cuda/kernels/Element.h"
#include "runtime/device/cuda/kernels/MatrixUnits.h"

namespace spmd::cuda {
namespace {

using Half = uint16_t;
using Out = SPMD_OUT;

/// Steps of k in a buffer: two of a matrix unit's. With it, three buffers of tiles of 128 are the 48 KiB of shared
/// memory that a kernel may declare.
constexpr uint32_t kDepth = 32, kBuffers = 3;
/// Values of a copy, and of a row of a matrix: 16 bytes.
constexpr uint32_t kChunk = 8;
/// Tiles along m that are neighbours in the order of blocks, so that the blocks that run at once share their factors in
/// the L2 cache.
constexpr int64_t kGroup = 8;

/// One side of a product: `places` rows of the left side, or columns of the right one, and `depth` steps of k. The
/// lines in memory are places with their steps of k, or, if `isAcross`, steps of k with all places.
struct Side {
  const Half *data;
  int64_t places, depth;
};

/// A buffer of `tile` places and kDepth steps of k in lines of chunks. The order of chunks changes from line to line,
/// so that eight lines of a matrix are in different banks.
template <uint32_t tile, bool isAcross> struct Buffer {
  static constexpr uint32_t kLine = (isAcross ? tile : kDepth) / kChunk, kLines = isAcross ? kDepth : tile;
  alignas(16) Half values[tile * kDepth];

  static SPMD_DEVICE uint32_t findChunk(uint32_t line, uint32_t chunk) {
    return line * kLine + (chunk ^ (isAcross ? line % 8 : line / 2 % 4));
  }
  SPMD_DEVICE SharedAddress find(uint32_t line, uint32_t chunk) const {
    return toShared(values + findChunk(line, chunk) * kChunk);
  }
};

/// Fills buffers with the next steps of k, and zeros beyond the ends of the side. All chunks of a thread are at equal
/// distances, in memory and in the buffer, so one pointer suffices.
template <uint32_t tile, bool isAcross, bool isAligned> class Filler {
  using Target = Buffer<tile, isAcross>;
  /// Lines from one chunk of a thread to the next.
  static constexpr int32_t kLineStep = kBlockThreads / Target::kLine, kCount = Target::kLines / kLineStep;
  static_assert(kLineStep % 8 == 0, "the chunks of a thread are in the same place of their lines");

public:
  SPMD_DEVICE Filler(const Side &side, int64_t first) {
    uint32_t line = threadIndex() / Target::kLine, chunk = threadIndex() % Target::kLine;
    uint32_t place = isAcross ? chunk * kChunk : line;
    step = isAcross ? line : chunk * kChunk;
    int64_t lineLength = isAcross ? side.places : side.depth;
    placesLeft =
        static_cast<int32_t>(side.places - first < tile ? side.places - first : tile) - static_cast<int32_t>(place);
    source = side.data + (isAcross ? step * lineLength + first + place : (first + place) * lineLength + step);
    distance = kLineStep * lineLength;
    target = Target::findChunk(line, chunk) * kChunk;
  }

  /// `depth` steps of k are left for this buffer, at most kDepth.
  SPMD_DEVICE void fill(Target &buffer, int32_t depth) {
    int32_t depthLeft = depth - static_cast<int32_t>(step);
    const Half *from = source;
#pragma unroll
    for (int32_t i = 0; i < kCount; ++i, from += distance) {
      int32_t rest = isAcross ? placesLeft : depthLeft;
      bool isInside = i * kLineStep < (isAcross ? depthLeft : placesLeft) && rest > 0;
      auto count = static_cast<uint32_t>(!isInside ? 0 : rest < static_cast<int32_t>(kChunk) ? rest : kChunk);
      Half *to = buffer.values + target + i * kBlockThreads * kChunk;
      if (isAligned)
        startCopy(toShared(to), from, count * sizeof(Half));
      else
        copy(to, from, count);
    }
    source = isAcross ? from : source + kDepth;
  }

private:
  /// Lines that are no multiple of 16 bytes have no aligned chunks.
  static SPMD_DEVICE void copy(Half *target, const Half *source, uint32_t count) {
    typedef uint32_t Words __attribute__((ext_vector_type(4), aligned(16)));
    Words words;
#pragma unroll
    for (uint32_t i = 0; i < kChunk; i += 2)
      words[i / 2] = (i < count ? source[i] : 0u) | (i + 1 < count ? source[i + 1] : 0u) << 16;
    *reinterpret_cast<Words *>(target) = words;
  }

  const Half *source;
  int64_t distance;
  int32_t placesLeft;
  uint32_t step, target; ///< Of the first chunk, in a buffer.
};

/// Loads the matrices of 16 places, from `place` on, and 16 steps of k. `isLeft`: in the order of a left factor, else
/// of two right ones.
template <bool isLeft, uint32_t tile, bool isAcross>
SPMD_DEVICE void load(const Buffer<tile, isAcross> &buffer, uint32_t place, uint32_t depth, uint32_t (&matrices)[4]) {
  uint32_t row = laneIndex() % 8, low = laneIndex() / 8 % 2, high = laneIndex() / 16;
  // Matrix i = low + 2 high: for a left factor the second half of the places is `low`, else `high`.
  uint32_t placeHalf = isLeft ? low : high, depthHalf = isLeft ? high : low;
  if (isAcross)
    loadMatrices<true>(buffer.find(depth + depthHalf * 8 + row, place / kChunk + placeHalf), matrices);
  else
    loadMatrices<false>(buffer.find(place + placeHalf * 8 + row, depth / kChunk + depthHalf), matrices);
}

/// Writes two adjacent sums of a row: by one access if rows have an even number of elements (`isEven`).
template <bool isEven, typename Stored>
SPMD_DEVICE void storeTwo(Stored *line, int64_t column, int64_t columns, float first, float second) {
  typedef Stored Two __attribute__((ext_vector_type(2)));
  Two two;
  if constexpr (sizeof(Stored) == sizeof(Half))
    two = std::bit_cast<Two>(packHalves<SPMD_BF16>(first, second));
  else
    two = Two{first, second};
  if constexpr (isEven) {
    if (column < columns)
      *reinterpret_cast<Two *>(line + column) = two;
    return;
  }
  if (column < columns)
    line[column] = two.x;
  if (column + 1 < columns)
    line[column + 1] = two.y;
}

template <uint32_t tile, bool transposesLeft, bool transposesRight> struct Buffers {
  Buffer<tile, transposesLeft> left[kBuffers];
  Buffer<tile, !transposesRight> right[kBuffers];
};

/// Computes rows [firstRow, firstRow + tile) and columns [firstColumn, firstColumn + tile) of the result.
template <uint32_t tile, bool transposesLeft, bool transposesRight, bool isAligned>
SPMD_DEVICE void multiplyTile(const Side &lhs, const Side &rhs, Out::Stored *result, int64_t firstRow,
                              int64_t firstColumn, Buffers<tile, transposesLeft, transposesRight> &buffers) {
  constexpr uint32_t kRows = tile / 2, kColumns = tile / 4; // Of a warp.
  uint32_t warpRow = warpIndex() / 4 * kRows, warpColumn = warpIndex() % 4 * kColumns;
  float sums[kRows / 16][kColumns / 8][4] = {};
  Filler<tile, transposesLeft, isAligned> left(lhs, firstRow);
  Filler<tile, !transposesRight, isAligned> right(rhs, firstColumn);
  int64_t depthLeft = lhs.depth;
  auto fill = [&](uint32_t buffer) {
    auto depth = static_cast<int32_t>(depthLeft > kDepth ? kDepth : depthLeft > 0 ? depthLeft : 0);
    left.fill(buffers.left[buffer], depth);
    right.fill(buffers.right[buffer], depth);
    commitCopies();
    depthLeft -= kDepth;
  };
  for (uint32_t buffer = 0; buffer + 1 < kBuffers; ++buffer)
    fill(buffer);
  uint32_t current = 0, next = kBuffers - 1;
  // The buffers that are filled already are to be multiplied.
  while (depthLeft > -static_cast<int64_t>((kBuffers - 1) * kDepth)) {
    waitForCopies<kBuffers - 2>();
    // Now the copies of all threads are there, and all threads have left the buffer that is filled next.
    syncBlock();
    fill(next);
#pragma unroll
    for (uint32_t k = 0; k < kDepth; k += 16) {
      uint32_t rights[kColumns / 16][4];
#pragma unroll
      for (uint32_t j = 0; j < kColumns / 16; ++j)
        load<false>(buffers.right[current], warpColumn + j * 16, k, rights[j]);
#pragma unroll
      for (uint32_t i = 0; i < kRows / 16; ++i) {
        uint32_t lefts[4];
        load<true>(buffers.left[current], warpRow + i * 16, k, lefts);
#pragma unroll
        for (uint32_t j = 0; j < kColumns / 8; ++j)
          multiplyMatrices<SPMD_BF16>(lefts, rights[j / 2][j % 2 * 2], rights[j / 2][j % 2 * 2 + 1], sums[i][j]);
      }
    }
    current = current + 1 == kBuffers ? 0 : current + 1;
    next = next + 1 == kBuffers ? 0 : next + 1;
  }
  // The next tile fills the buffers again.
  waitForCopies<0>();
  syncBlock();
#pragma unroll
  for (uint32_t i = 0; i < kRows / 16; ++i)
#pragma unroll
    for (uint32_t half = 0; half < 2; ++half) {
      int64_t row = firstRow + warpRow + i * 16 + half * 8 + laneIndex() / 4;
      if (row >= lhs.places)
        continue;
#pragma unroll
      for (uint32_t j = 0; j < kColumns / 8; ++j)
        storeTwo<isAligned>(result + row * rhs.places, firstColumn + warpColumn + j * 8 + laneIndex() % 4 * 2,
                            rhs.places, sums[i][j][half * 2], sums[i][j][half * 2 + 1]);
    }
}

template <uint32_t tile, bool transposesLeft, bool transposesRight, bool isAligned>
SPMD_DEVICE void multiply(const Half *lhs, const Half *rhs, Out::Stored *result, int64_t batch, int64_t m, int64_t n,
                          int64_t k, int64_t blocks) {
  static SPMD_SHARED Buffers<tile, transposesLeft, transposesRight> buffers;
  int64_t rowTiles = (m + tile - 1) / tile, columnTiles = (n + tile - 1) / tile;
  for (int64_t number = blockIndex(); number < batch * rowTiles * columnTiles; number += blocks) {
    Quotient inBatch = divide(number, rowTiles * columnTiles);
    int64_t b = inBatch.quotient;
    // Groups of rows of tiles; the tiles of a group go along the columns.
    Quotient inGroup = divide(inBatch.remainder, kGroup * columnTiles);
    int64_t firstTile = inGroup.quotient * kGroup, rest = rowTiles - firstTile, rows = rest < kGroup ? rest : kGroup;
    Quotient at = divide(inGroup.remainder, rows);
    multiplyTile<tile, transposesLeft, transposesRight, isAligned>(
        {lhs + b * m * k, m, k}, {rhs + b * k * n, n, k}, result + b * m * n, (firstTile + at.remainder) * tile,
        at.quotient * tile, buffers);
  }
}

} // namespace

// `aligned`: the lines of both sides are multiples of 16 bytes, and rows of the result have an even number of elements.
// Others have the smaller tile alone: their copies go through registers, of which the larger one has few left.
#define SPMD_MULTIPLY_HALVES(name, tile, transposesLeft, transposesRight, isAligned)                                   \
  SPMD_KERNEL(tile == 128 ? 2 : 3)                                                                                     \
  spmd_multiply_halves_##name##_##tile(const Half *lhs, const Half *rhs, Out::Stored *result, int64_t batch,           \
                                       int64_t m, int64_t n, int64_t k, int64_t blocks) {                              \
    multiply<tile, transposesLeft, transposesRight, isAligned>(lhs, rhs, result, batch, m, n, k, blocks);              \
  }
#define SPMD_MULTIPLY_HALVES_OF(suffix, tile, isAligned)                                                               \
  SPMD_MULTIPLY_HALVES(nn##suffix, tile, false, false, isAligned)                                                      \
  SPMD_MULTIPLY_HALVES(nt##suffix, tile, false, true, isAligned)                                                       \
  SPMD_MULTIPLY_HALVES(tn##suffix, tile, true, false, isAligned)                                                       \
  SPMD_MULTIPLY_HALVES(tt##suffix, tile, true, true, isAligned)
SPMD_MULTIPLY_HALVES_OF(, 64, false)
SPMD_MULTIPLY_HALVES_OF(_aligned, 64, true)
SPMD_MULTIPLY_HALVES_OF(_aligned, 128, true)

} // namespace spmd::cuda
