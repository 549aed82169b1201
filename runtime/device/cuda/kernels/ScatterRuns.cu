//===- ScatterRuns.cu - adds where indices say, in their order ------------===//
//
// result[o, row, i] += updates[o, m, i] for all m whose index is `row`, in the order of m: the CPU's bits.
//
// The positions m are sorted by row first (RadixSort.cu, LineSort.cu), which leaves them in runs of one row each; a run
// is added up by one thread a column, and a long one by a block, which fetches updates while one warp adds. Few updates
// are compared with each other instead.
//
// A flat column f = o * inner + i is a column of the result and of the updates. Indices of scatter_add_along are sorted
// in a line for each column, those of scatter_add in one line for all.
//
// Compiled once for each element type, SPMD_ELEMENT.
//
//===----------------------------------------------------------------------===//

#include "runtime/device/cuda/kernels/Element.h"
#include "runtime/device/cuda/kernels/ScatterIndex.h"

namespace spmd::cuda {
namespace {

using Element = SPMD_ELEMENT;
using Stored = Element::Stored;
using Value = Element::Value;

/// Adds runs of sorted updates to one column.
struct Column {
  const Stored *updates; ///< Of position 0.
  Stored *result;        ///< Of row 0.
  int64_t inner;

  SPMD_DEVICE Column(const void *updates, void *result, const Sizes &sizes, int64_t flat) : inner(sizes.inner) {
    Quotient at = divide(flat, inner);
    this->updates = static_cast<const Stored *>(updates) + at.quotient * sizes.count * inner + at.remainder;
    this->result = static_cast<Stored *>(result) + at.quotient * sizes.rows * inner + at.remainder;
  }
  SPMD_DEVICE Value read(int64_t position) const { return Element::load(updates[position * inner]); }
  SPMD_DEVICE Stored &at(int64_t row) const { return result[row * inner]; }
};

/// One thread a sorted position and column, of which those at the start of a short run work.
SPMD_DEVICE void addShortRuns(const uint32_t *allKeys, const uint32_t *allPositions, const void *updates, void *result,
                              Sizes sizes, int64_t lines, int64_t blocks) {
  constexpr int kAhead = 4;
  int64_t columns = sizes.outer * sizes.inner / lines, units = lines * sizes.count * columns;
  for (int64_t unit = static_cast<int64_t>(blockIndex()) * kBlockThreads + threadIndex(); unit < units;
       unit += blocks * kBlockThreads) {
    Quotient at = divide(unit, columns), place = divide(at.quotient, sizes.count);
    int64_t line = place.quotient, begin = place.remainder;
    const uint32_t *keys = allKeys + line * sizes.count, *positions = allPositions + line * sizes.count;
    uint32_t row = keys[begin];
    if (row >= sizes.rows || (begin > 0 && keys[begin - 1] == row) ||
        (begin + kLongRun < sizes.count && keys[begin + kLongRun] == row))
      continue;
    Column column(updates, result, sizes, line * columns + at.remainder);
    Value sum = Element::load(column.at(row));
    // So many updates are on their way at a time.
    for (int64_t next = begin; next < sizes.count && keys[next] == row; next += kAhead) {
      Value values[kAhead];
      bool isMine[kAhead];
#pragma unroll
      for (int j = 0; j < kAhead; ++j) {
        isMine[j] = next + j < sizes.count && keys[next + j] == row;
        if (isMine[j])
          values[j] = column.read(positions[next + j]);
      }
#pragma unroll
      for (int j = 0; j < kAhead; ++j)
        if (isMine[j])
          sum += values[j];
    }
    column.at(row) = Element::store(sum);
  }
}

/// The first place in (low, high] whose key is greater than `row`, where that of `low` is not and places from `high` on
/// are taken to be greater.
SPMD_DEVICE int64_t findEnd(const uint32_t *keys, uint32_t row, int64_t low, int64_t high) {
  while (low + 1 < high) {
    int64_t middle = low + (high - low) / 2;
    if (keys[middle] > row)
      high = middle;
    else
      low = middle;
  }
  return high;
}

/// The first place in (low, high] whose key is not less than `row`, where that of `high` is not.
SPMD_DEVICE int64_t findBegin(const uint32_t *keys, uint32_t row, int64_t low, int64_t high) {
  while (low + 1 < high) {
    int64_t middle = low + (high - low) / 2;
    if (keys[middle] < row)
      low = middle;
    else
      high = middle;
  }
  return high;
}

/// Adds the run [begin, end) to `width` columns (a power of two), one a thread of the first warp. All threads fetch the
/// updates of the next stage while it adds those of this one: an addition waits for the one before it, not for memory.
SPMD_DEVICE void addLongRun(const uint32_t *positions, int64_t begin, int64_t end, const void *updates, void *result,
                            Sizes sizes, uint32_t row, int64_t firstColumn, int64_t columns, uint32_t width,
                            Value (&stage)[2][kRunStage]) {
  constexpr uint32_t kLoads = kRunStage / kBlockThreads;
  uint32_t thread = threadIndex(), stageRows = kRunStage / width;
  uint32_t mine = thread % width;
  bool isInside = firstColumn + mine < columns;
  Column column(updates, result, sizes, isInside ? firstColumn + mine : firstColumn);
  bool isAdder = thread < width && isInside;
  Value sum = isAdder ? Element::load(column.at(row)) : Value(0);
  Value values[kLoads];
  // Rows of a stage that a thread fetches: every so many.
  uint32_t step = kBlockThreads / width, first = thread / width;
  auto fetch = [&](int64_t from) {
#pragma unroll
    for (uint32_t j = 0; j < kLoads; ++j)
      if (int64_t place = from + first + j * step; place < end)
        values[j] = column.read(positions[place]);
  };
  fetch(begin);
  uint32_t buffer = 0;
  for (int64_t from = begin; from < end; from += stageRows, buffer ^= 1) {
#pragma unroll
    for (uint32_t j = 0; j < kLoads; ++j)
      stage[buffer][j * kBlockThreads + thread] = values[j];
    syncBlock();
    fetch(from + stageRows);
    if (!isAdder)
      continue;
    auto rows = static_cast<uint32_t>(end - from < stageRows ? end - from : stageRows);
#pragma unroll 8
    for (uint32_t r = 0; r < rows; ++r)
      sum += stage[buffer][r * width + thread];
  }
  if (isAdder)
    column.at(row) = Element::store(sum);
  syncBlock();
}

/// A unit is a place that is a multiple of kLongRun, and `width` columns. It adds the run that the place is in, where
/// that is long and the place the first of its kind in it: each long run has one.
SPMD_DEVICE void addLongRuns(const uint32_t *allKeys, const uint32_t *allPositions, const void *updates, void *result,
                             Sizes sizes, int64_t lines, uint32_t width, int64_t blocks) {
  static SPMD_SHARED Value stage[2][kRunStage];
  int64_t columns = sizes.outer * sizes.inner / lines, groups = (columns + width - 1) / width;
  int64_t places = (sizes.count + kLongRun - 1) / kLongRun;
  for (int64_t unit = blockIndex(); unit < lines * places * groups; unit += blocks) {
    Quotient at = divide(unit, groups), number = divide(at.quotient, places);
    int64_t line = number.quotient, place = number.remainder * kLongRun;
    const uint32_t *keys = allKeys + line * sizes.count, *positions = allPositions + line * sizes.count;
    uint32_t row = keys[place];
    if (row >= sizes.rows || (place > 0 && keys[place - kLongRun] == row))
      continue;
    int64_t begin = place > 0 ? findBegin(keys, row, place - kLongRun, place) : 0;
    if (begin + kLongRun >= sizes.count || keys[begin + kLongRun] != row)
      continue;
    int64_t end = findEnd(keys, row, begin + kLongRun, sizes.count);
    addLongRun(positions, begin, end, updates, result, sizes, row, line * columns + at.remainder * width,
               (line + 1) * columns, width, stage);
  }
}

/// One thread an update and column, of which the first of those with one index adds them all.
SPMD_DEVICE void addFew(const void *indices, int64_t indexBytes, bool isAlong, const void *updates, void *result,
                        Sizes sizes, int64_t blocks) {
  int64_t columns = sizes.outer * sizes.inner, units = sizes.count * columns;
  for (int64_t unit = static_cast<int64_t>(blockIndex()) * kBlockThreads + threadIndex(); unit < units;
       unit += blocks * kBlockThreads) {
    Quotient at = divide(unit, columns), flat = divide(at.remainder, sizes.inner);
    int64_t mine = at.quotient;
    // Index m of this column.
    int64_t start = isAlong ? flat.quotient * sizes.count * sizes.inner + flat.remainder : 0;
    int64_t step = isAlong ? sizes.inner : 1;
    int64_t row = readIndex(indices, start + mine * step, indexBytes, sizes.rows);
    bool isFirst = row >= 0;
    for (int64_t m = 0; m < mine && isFirst; ++m)
      isFirst = readIndex(indices, start + m * step, indexBytes, sizes.rows) != row;
    if (!isFirst)
      continue;
    Column column(updates, result, sizes, at.remainder);
    Value sum = Element::load(column.at(row));
    for (int64_t m = mine; m < sizes.count; ++m)
      if (m == mine || readIndex(indices, start + m * step, indexBytes, sizes.rows) == row)
        sum += column.read(m);
    column.at(row) = Element::store(sum);
  }
}

} // namespace

// All take `blocks` blocks.
SPMD_KERNEL(1)
spmd_scatter_few(const void *indices, int64_t indexBytes, int64_t isAlong, const void *updates, void *result,
                 int64_t outer, int64_t rows, int64_t count, int64_t inner, int64_t blocks) {
  addFew(indices, indexBytes, isAlong, updates, result, {outer, rows, count, inner}, blocks);
}

SPMD_KERNEL(1)
spmd_scatter_short(const uint32_t *keys, const uint32_t *positions, const void *updates, void *result, int64_t outer,
                   int64_t rows, int64_t count, int64_t inner, int64_t lines, int64_t blocks) {
  addShortRuns(keys, positions, updates, result, {outer, rows, count, inner}, lines, blocks);
}

SPMD_KERNEL(1)
spmd_scatter_long(const uint32_t *keys, const uint32_t *positions, const void *updates, void *result, int64_t outer,
                  int64_t rows, int64_t count, int64_t inner, int64_t lines, int64_t width, int64_t blocks) {
  addLongRuns(keys, positions, updates, result, {outer, rows, count, inner}, lines, static_cast<uint32_t>(width),
              blocks);
}

} // namespace spmd::cuda
