//===- Multiply.cu - matrix products of all element types -----------------===//
//
// For types that cuBLASLt does not support, and for machines without it. A block computes a square tile of the result.
// Both sides go through shared memory in steps along k, already in the type of the sums, while the next step is loaded
// into registers. Each element is summed over k in order. A product with few rows or columns reads the other side once,
// spread over k, and adds up a fixed number of partial sums in a fixed order. So the bits of an element depend only on
// its row, its column and the shape.
//
// The types are those of runtime/device/cpu/Gemm.cpp: halves are summed in f32 and rounded once; integers are
// multiplied as unsigned integers, so that overflow wraps; for bools, any true product makes the result true.
//
// Compiled once for each pair of types: SPMD_IN, SPMD_OUT and SPMD_SUM, SPMD_LOGICAL for bools.
//
//===----------------------------------------------------------------------===//

#include "runtime/device/cuda/kernels/Element.h"

namespace spmd::cuda {
namespace {

using In = SPMD_IN;
using Out = SPMD_OUT;
using Sum = SPMD_SUM;

/// Steps of k between two barriers. Both tiles have the same number of values, which are in registers while they are
/// loaded.
template <uint32_t tile> constexpr uint32_t kDepth = 1024 / tile;

/// kDepth lines of `tile` values, padded by four values: lines then start in different banks, and stay aligned for
/// reads of four.
template <uint32_t tile> constexpr uint32_t kPitch = tile + 4;
template <uint32_t tile> struct Panel {
  alignas(16) Sum values[kDepth<tile> * kPitch<tile>];
};

/// Loads four contiguous values, aligned to 16 bytes: one instruction or two.
SPMD_DEVICE void loadFour(const Sum *from, Sum *to) {
  typedef Sum Four __attribute__((ext_vector_type(4), aligned(16)));
  Four four = *reinterpret_cast<const Four *>(from);
  to[0] = four.x, to[1] = four.y, to[2] = four.z, to[3] = four.w;
}

SPMD_DEVICE Out::Stored finish(Sum sum) {
  return SPMD_LOGICAL ? static_cast<Out::Stored>(sum != Sum(0)) : Out::store(static_cast<Out::Value>(sum));
}

/// One side of a product: `places` rows of the left side, or columns of the right one, along which the tile extends,
/// and `depth` steps of k. One of the strides is 1.
struct Side {
  const In::Stored *data;
  int64_t places, placeStride, depth, depthStride;
};

/// Copies a side into panels through registers. Neighboring threads read neighboring elements. All reads of a thread
/// are at equal distances, so one pointer suffices.
template <uint32_t tile> class Fetcher {
  static constexpr int32_t kCount = tile * kDepth<tile> / kBlockThreads;

public:
  SPMD_DEVICE Fetcher(const Side &side, int64_t first) : alongDepth(side.depthStride == 1 && side.placeStride != 1) {
    uint32_t thread = threadIndex();
    uint32_t depth = alongDepth ? thread % kDepth<tile> : thread / tile;
    uint32_t place = alongDepth ? thread / kDepth<tile> : thread % tile;
    depthLeft = side.depth - depth;
    placesLeft =
        static_cast<int32_t>(side.places - first < tile ? side.places - first : tile) - static_cast<int32_t>(place);
    pointer = side.data + (first + place) * side.placeStride + depth * side.depthStride;
    step = getPlaceStep() * side.placeStride + getDepthStep() * side.depthStride;
    advance = kDepth<tile> * side.depthStride;
    offset = depth * kPitch<tile> + place;
  }
  /// Loads the next kDepth steps of k; zeros beyond its end.
  SPMD_DEVICE void fetch() {
    const In::Stored *from = pointer;
#pragma unroll
    for (int32_t c = 0; c < kCount; ++c, from += step) {
      bool isInside = c * getPlaceStep() < placesLeft && c * getDepthStep() < depthLeft;
      values[c] = isInside ? static_cast<Sum>(In::load(*from)) : Sum(0);
    }
    pointer += advance;
    depthLeft -= kDepth<tile>;
  }
  SPMD_DEVICE void store(Panel<tile> &panel) const {
#pragma unroll
    for (int32_t c = 0; c < kCount; ++c)
      panel.values[offset + c * (getDepthStep() * kPitch<tile> + getPlaceStep())] = values[c];
  }

private:
  SPMD_DEVICE int32_t getDepthStep() const { return alongDepth ? 0 : kBlockThreads / tile; }
  SPMD_DEVICE int32_t getPlaceStep() const { return alongDepth ? kBlockThreads / kDepth<tile> : 0; }

  bool alongDepth;
  uint32_t offset; ///< Index of this thread's first value in a panel.
  int32_t placesLeft;
  int64_t depthLeft, step, advance;
  const In::Stored *pointer;
  Sum values[kCount];
};

/// Computes rows [firstRow, firstRow + tile) and columns [firstColumn, firstColumn + tile) of the result.
template <uint32_t tile>
SPMD_DEVICE void multiplyTile(const Side &lhs, const Side &rhs, Out::Stored *result, int64_t firstRow,
                              int64_t firstColumn, Panel<tile> (&panels)[2]) {
  // A thread has groups of 4 x 4 elements, 64 rows and columns apart.
  constexpr uint32_t kGroups = tile / 64, kSums = 4 * kGroups;
  uint32_t threadRow = threadIndex() / 16 * 4, threadColumn = threadIndex() % 16 * 4;
  Sum sums[kSums][kSums] = {};
  Fetcher<tile> left(lhs, firstRow), right(rhs, firstColumn);
  left.fetch();
  right.fetch();
  for (int64_t depth = 0; depth < lhs.depth; depth += kDepth<tile>) {
    left.store(panels[0]);
    right.store(panels[1]);
    syncBlock();
    left.fetch();
    right.fetch();
    // The larger tile has no registers for values of two steps.
    constexpr int kUnrolled = tile == kSmallTile ? 4 : 1;
#pragma unroll kUnrolled
    for (uint32_t k = 0; k < kDepth<tile>; ++k) {
      Sum a[kSums], b[kSums];
#pragma unroll
      for (uint32_t g = 0; g < kGroups; ++g) {
        loadFour(panels[0].values + k * kPitch<tile> + g * 64 + threadRow, a + 4 * g);
        loadFour(panels[1].values + k * kPitch<tile> + g * 64 + threadColumn, b + 4 * g);
      }
#pragma unroll
      for (uint32_t i = 0; i < kSums; ++i)
#pragma unroll
        for (uint32_t j = 0; j < kSums; ++j)
          sums[i][j] += a[i] * b[j];
    }
    syncBlock();
  }
#pragma unroll
  for (uint32_t i = 0; i < kSums; ++i) {
    int64_t row = firstRow + i / 4 * 64 + threadRow + i % 4;
    if (row >= lhs.places)
      continue;
    Out::Stored *line = result + row * rhs.places;
#pragma unroll
    for (uint32_t j = 0; j < kSums; ++j)
      if (int64_t column = firstColumn + j / 4 * 64 + threadColumn + j % 4; column < rhs.places)
        line[column] = finish(sums[i][j]);
  }
}

template <uint32_t tile>
SPMD_DEVICE void multiply(const In::Stored *lhs, const In::Stored *rhs, Out::Stored *result, int64_t batch, int64_t m,
                          int64_t n, int64_t k, bool transposeLhs, bool transposeRhs, int64_t blocks) {
  static SPMD_SHARED Panel<tile> panels[2];
  int64_t rowTiles = (m + tile - 1) / tile, columnTiles = (n + tile - 1) / tile;
  for (int64_t number = blockIndex(); number < batch * rowTiles * columnTiles; number += blocks) {
    Quotient column = divide(number, columnTiles), row = divide(column.quotient, rowTiles);
    int64_t b = row.quotient;
    Side left{lhs + b * m * k, m, transposeLhs ? 1 : k, k, transposeLhs ? m : 1};
    Side right{rhs + b * k * n, n, transposeRhs ? k : 1, k, transposeRhs ? 1 : n};
    multiplyTile<tile>(left, right, result + b * m * n, row.remainder * tile, column.remainder * tile, panels);
  }
}

/// A product with at most kFewRows rows, or columns: `few` is the side with them, `many` the other side.
struct FewRows {
  Side few, many;
  Out::Stored *result;
  int64_t resultFewStride, resultManyStride;
};

/// Computes some rows or columns of the other side, from `first` on. If these are contiguous (isAcross), each lane has
/// one, and each warp sums every eighth step of k. If the steps of k are contiguous, each warp has one, and each lane
/// sums every 32nd step. The partial sums are then added in their order. The side with few rows goes through shared
/// memory.
template <bool isAcross>
SPMD_DEVICE void multiplyFewRows(const FewRows &product, int64_t first, Sum (&shared)[kFewRows][kBlockThreads]) {
  constexpr uint32_t kStep = isAcross ? kBlockThreads / kWarp : kWarp;
  const Side &few = product.few, &many = product.many;
  uint32_t thread = threadIndex(), start = isAcross ? warpIndex() : laneIndex();
  int64_t place = first + (isAcross ? laneIndex() : warpIndex());
  bool isInside = place < many.places;
  const In::Stored *data = many.data + place * many.placeStride;
  Sum sums[kFewRows] = {};
  for (int64_t begin = 0; begin < many.depth; begin += kBlockThreads) {
    const In::Stored *from = few.data + (begin + thread) * few.depthStride;
#pragma unroll
    for (uint32_t r = 0; r < kFewRows; ++r, from += few.placeStride)
      shared[r][thread] = r < few.places && begin + thread < few.depth ? static_cast<Sum>(In::load(*from)) : Sum(0);
    syncBlock();
    auto count = static_cast<uint32_t>(many.depth - begin < kBlockThreads ? many.depth - begin : kBlockThreads);
    if (isInside) {
#pragma unroll 4
      for (uint32_t k = start; k < count; k += kStep) {
        Sum value = static_cast<Sum>(In::load(data[(begin + k) * many.depthStride]));
#pragma unroll
        for (uint32_t r = 0; r < kFewRows; ++r)
          sums[r] += value * shared[r][k];
      }
    }
    syncBlock();
  }
#pragma unroll
  for (uint32_t r = 0; r < kFewRows; ++r)
    shared[r][thread] = sums[r];
  syncBlock();
  // One thread per row and position.
  uint32_t row = isAcross ? warpIndex() : laneIndex();
  if (row < few.places && isInside) {
    Sum sum = 0;
    for (uint32_t part = 0; part < kStep; ++part)
      sum += shared[row][isAcross ? part * kWarp + laneIndex() : warpIndex() * kWarp + part];
    product.result[row * product.resultFewStride + place * product.resultManyStride] = finish(sum);
  }
  syncBlock();
}

} // namespace

/// A product with m or n of at most kFewRows. Blocks take `places` rows or columns of the other side at a time: 32 if
/// these are contiguous in memory, 8 if steps of k are.
SPMD_KERNEL(4)
spmd_multiply_few(const In::Stored *lhs, const In::Stored *rhs, Out::Stored *result, int64_t batch, int64_t m,
                  int64_t n, int64_t k, int64_t transposeLhs, int64_t transposeRhs, int64_t places, int64_t blocks) {
  static SPMD_SHARED Sum shared[kFewRows][kBlockThreads];
  bool isLhsFew = m <= n;
  int64_t many = isLhsFew ? n : m, parts = (many + places - 1) / places;
  for (int64_t number = blockIndex(); number < batch * parts; number += blocks) {
    Quotient at = divide(number, parts);
    int64_t b = at.quotient;
    Side left{lhs + b * m * k, m, transposeLhs ? 1 : k, k, transposeLhs ? m : 1};
    Side right{rhs + b * k * n, n, transposeRhs ? k : 1, k, transposeRhs ? 1 : n};
    Out::Stored *target = result + b * m * n;
    FewRows product = isLhsFew ? FewRows{left, right, target, n, 1} : FewRows{right, left, target, 1, n};
    if (places == kWarp)
      multiplyFewRows<true>(product, at.remainder * places, shared);
    else
      multiplyFewRows<false>(product, at.remainder * places, shared);
  }
}

#define SPMD_MULTIPLY(tile, most)                                                                                      \
  SPMD_KERNEL(most)                                                                                                    \
  spmd_multiply_##tile(const In::Stored *lhs, const In::Stored *rhs, Out::Stored *result, int64_t batch, int64_t m,    \
                       int64_t n, int64_t k, int64_t transposeLhs, int64_t transposeRhs, int64_t blocks) {             \
    multiply<tile>(lhs, rhs, result, batch, m, n, k, transposeLhs, transposeRhs, blocks);                              \
  }
SPMD_MULTIPLY(64, 2)
#if SPMD_SUM_BITS == 32 // The sums of a larger tile of others do not fit in registers.
SPMD_MULTIPLY(128, 2)
#endif

} // namespace spmd::cuda
