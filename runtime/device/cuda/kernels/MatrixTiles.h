//===- MatrixTiles.h - tiles of products on matrix units --------*- C++ -*-===//
//
// A block computes a square tile of the result, and each of its eight warps half of the rows and a quarter of the
// columns. Both sides go through shared memory in steps of 64 bytes along k; three buffers are filled ahead, by
// asynchronous copies where elements keep their order. Each element is summed over k in order.
//
// `Units` are the instructions for a type of elements:
//   Element, Sum       the types of a factor and of a sum; an Element is an unsigned integer of 8 or 16 bits
//   Stored             the type of an element of the result
//   multiply(...)      sums [16, 8] += left [16, 32 bytes] right [32 bytes, 8], in the matrices of MatrixUnits.h
//   finish(x, y)       two elements of the result, from two sums
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/device/cuda/kernels/MatrixFillers.h"

namespace spmd::cuda {

/// Tiles along m that are neighbours in the order of blocks, so that the blocks that run at once share their factors in
/// the L2 cache.
constexpr int64_t kGroup = 8;

/// Loads the matrices of 16 places, from `place` on, and 32 bytes of steps of k. `isLeft`: in the order of a left
/// factor, else of two right ones.
template <bool isLeft, typename Element, uint32_t tile, bool isAcross>
SPMD_DEVICE void load(const Buffer<Element, tile, isAcross> &buffer, uint32_t place, uint32_t depth,
                      uint32_t (&matrices)[4]) {
  uint32_t row = laneIndex() % 8, low = laneIndex() / 8 % 2, high = laneIndex() / 16;
  // Matrix i = low + 2 high: for a left factor the second half of the places is `low`, else `high`.
  uint32_t placeHalf = isLeft ? low : high, depthHalf = isLeft ? high : low;
  if (isAcross)
    loadMatrices<true>(buffer.find(depth + depthHalf * 8 + row, place / kChunk<Element> + placeHalf), matrices);
  else
    loadMatrices<false>(buffer.find(place + placeHalf * 8 + row, depth / kChunk<Element> + depthHalf), matrices);
}

/// Writes two adjacent sums of a row: by one access if rows have an even number of elements (`isEven`).
template <bool isEven, typename Units>
SPMD_DEVICE void storeTwo(typename Units::Stored *line, int64_t column, int64_t columns, typename Units::Sum first,
                          typename Units::Sum second) {
  auto two = Units::finish(first, second);
  if constexpr (isEven) {
    if (column < columns)
      *reinterpret_cast<decltype(two) *>(line + column) = two;
    return;
  }
  if (column < columns)
    line[column] = two.x;
  if (column + 1 < columns)
    line[column + 1] = two.y;
}

/// How a kernel reads its factors. `isAligned`: lines are multiples of 16 bytes, or of 4 if bytes are transposed, and
/// rows of the result have an even number of elements.
template <typename Units, uint32_t tile, bool transposesLeft, bool transposesRight, bool isAligned> struct TileKernel {
  using Element = typename Units::Element;
  using Stored = typename Units::Stored;
  using LeftFiller = FillerOf<Element, tile, transposesLeft, isAligned>;
  using RightFiller = FillerOf<Element, tile, !transposesRight, isAligned>;

  struct Buffers {
    typename LeftFiller::Target left[kBuffers];
    typename RightFiller::Target right[kBuffers];
  };

  struct Product {
    const Element *lhs, *rhs;
    Stored *result;
    int64_t batch, m, n, k;
  };
  /// The first element of a tile.
  struct Place {
    int64_t batch, row, column;
  };

  static SPMD_DEVICE int64_t countTiles(int64_t size) { return (size + tile - 1) / tile; }

  static SPMD_DEVICE Place findTile(const Product &product, int64_t number) {
    int64_t rowTiles = countTiles(product.m), columnTiles = countTiles(product.n);
    Quotient inBatch = divide(number, rowTiles * columnTiles);
    // Groups of rows of tiles; the tiles of a group go along the columns.
    Quotient inGroup = divide(inBatch.remainder, kGroup * columnTiles);
    int64_t firstTile = inGroup.quotient * kGroup, rest = rowTiles - firstTile, rows = rest < kGroup ? rest : kGroup;
    Quotient at = divide(inGroup.remainder, rows);
    return {inBatch.quotient, (firstTile + at.remainder) * tile, at.quotient * tile};
  }

  static SPMD_DEVICE void multiplyTile(const Product &product, int64_t number, Buffers &buffers) {
    constexpr uint32_t kRows = tile / 2, kColumns = tile / 4; // Of a warp.
    constexpr uint32_t depthOfBuffer = kDepth<Element>;
    uint32_t warpRow = warpIndex() / 4 * kRows, warpColumn = warpIndex() % 4 * kColumns;
    typename Units::Sum sums[kRows / 16][kColumns / 8][4] = {};
    const auto &[lhs, rhs, result, batch, m, n, k] = product;
    Place first = findTile(product, number);
    LeftFiller left({lhs + first.batch * m * k, m, k}, first.row);
    RightFiller right({rhs + first.batch * k * n, n, k}, first.column);
    int64_t depthLeft = k;
    int32_t depth = 0;
    auto start = [&](uint32_t buffer) {
      depth = static_cast<int32_t>(depthLeft > depthOfBuffer ? depthOfBuffer : depthLeft > 0 ? depthLeft : 0);
      left.start(buffers.left[buffer], depth);
      right.start(buffers.right[buffer], depth);
      commitCopies();
      depthLeft -= depthOfBuffer;
    };
    // Not unrolled, for less code.
#pragma unroll 1
    for (uint32_t buffer = 0; buffer + 1 < kBuffers; ++buffer) {
      start(buffer);
      for (uint32_t part = 0; part < kPartsOfBuffer; ++part) {
        left.fetch(part, depth);
        left.store(buffers.left[buffer], part);
        right.fetch(part, depth);
        right.store(buffers.right[buffer], part);
      }
    }
    uint32_t current = 0, next = kBuffers - 1;
    // The buffers that are filled already are to be multiplied.
    while (depthLeft > -static_cast<int64_t>((kBuffers - 1) * depthOfBuffer)) {
      waitForCopies<kBuffers - 2>();
      // Now the copies of all threads are there, and all threads have left the buffer that is filled next.
      syncBlock();
      start(next);
#pragma unroll
      for (uint32_t part = 0; part < kPartsOfBuffer; ++part) {
        uint32_t step = part * depthOfBuffer / kPartsOfBuffer, rights[kColumns / 16][4];
#pragma unroll
        for (uint32_t j = 0; j < kColumns / 16; ++j)
          load<false>(buffers.right[current], warpColumn + j * 16, step, rights[j]);
        // There are no registers for bytes of both sides.
        constexpr uint32_t kRightFetch = transposesLeft ? kRows / 32 : 0;
        left.fetch(part, depth);
#pragma unroll
        for (uint32_t i = 0; i < kRows / 16; ++i) {
          if (i == kRightFetch) {
            left.store(buffers.left[next], part);
            right.fetch(part, depth);
          }
          uint32_t lefts[4];
          load<true>(buffers.left[current], warpRow + i * 16, step, lefts);
#pragma unroll
          for (uint32_t j = 0; j < kColumns / 8; ++j)
            Units::multiply(lefts, rights[j / 2][j % 2 * 2], rights[j / 2][j % 2 * 2 + 1], sums[i][j]);
        }
        right.store(buffers.right[next], part);
      }
      current = current + 1 == kBuffers ? 0 : current + 1;
      next = next + 1 == kBuffers ? 0 : next + 1;
    }
    // The next tile fills the buffers again.
    waitForCopies<0>();
    syncBlock();
    // Found again, which costs less than registers for it beside the sums.
    asm volatile("" : "+l"(number));
    first = findTile(product, number);
#pragma unroll
    for (uint32_t i = 0; i < kRows / 16; ++i)
#pragma unroll
      for (uint32_t half = 0; half < 2; ++half) {
        int64_t row = first.row + warpRow + i * 16 + half * 8 + laneIndex() / 4;
        if (row >= m)
          continue;
        Stored *line = result + (first.batch * m + row) * n;
#pragma unroll
        for (uint32_t j = 0; j < kColumns / 8; ++j)
          storeTwo<isAligned, Units>(line, first.column + warpColumn + j * 8 + laneIndex() % 4 * 2, n,
                                     sums[i][j][half * 2], sums[i][j][half * 2 + 1]);
      }
  }

  static SPMD_DEVICE void run(const Product &product, int64_t blocks) {
    static SPMD_SHARED Buffers buffers;
    int64_t tiles = product.batch * countTiles(product.m) * countTiles(product.n);
    for (int64_t number = blockIndex(); number < tiles; number += blocks)
      multiplyTile(product, number, buffers);
  }
};

} // namespace spmd::cuda

/// Kernels of all layouts, named spmd_multiply_KIND_nn_64 and the like. Unaligned sides have the smaller tile alone:
/// their copies go through registers, of which the larger one has few left.
#define SPMD_MULTIPLY_TILES(kind, Units)                                                                               \
  SPMD_MULTIPLY_LAYOUTS(kind, , Units, 64, false)                                                                      \
  SPMD_MULTIPLY_LAYOUTS(kind, _aligned, Units, 64, true)                                                               \
  SPMD_MULTIPLY_LAYOUTS(kind, _aligned, Units, 128, true)
#define SPMD_MULTIPLY_LAYOUTS(kind, suffix, Units, tile, isAligned)                                                    \
  SPMD_MULTIPLY_LAYOUT(kind##_nn##suffix##_##tile, Units, tile, false, false, isAligned)                               \
  SPMD_MULTIPLY_LAYOUT(kind##_nt##suffix##_##tile, Units, tile, false, true, isAligned)                                \
  SPMD_MULTIPLY_LAYOUT(kind##_tn##suffix##_##tile, Units, tile, true, false, isAligned)                                \
  SPMD_MULTIPLY_LAYOUT(kind##_tt##suffix##_##tile, Units, tile, true, true, isAligned)
#define SPMD_MULTIPLY_LAYOUT(name, Units, tile, transposesLeft, transposesRight, isAligned)                            \
  SPMD_KERNEL(tile == 128 || !isAligned ? 2 : 3)                                                                       \
  spmd_multiply_##name(const Units::Element *lhs, const Units::Element *rhs, Units::Stored *result, int64_t batch,     \
                       int64_t m, int64_t n, int64_t k, int64_t blocks) {                                              \
    TileKernel<Units, tile, transposesLeft, transposesRight, isAligned>::run({lhs, rhs, result, batch, m, n, k},       \
                                                                             blocks);                                  \
  }
