//===- ScatterRuns.cu - adds updates in their order -----------------------===//
//
// result[o, row, i] += updates[o, m, i] for all m whose index is `row`, in the order of m: the same bits as on a CPU.
//
// The positions m are sorted by row first (RadixSort.cu, LineSort.cu), which groups them into runs of one row each. One
// thread per column adds up a run; a block lists the runs of some positions, and its threads share them and their
// columns. A long run has a block, which loads updates while one warp adds. A few updates are compared with each other
// instead.
//
// A flat column f = o * inner + i is a column of the result and of the updates. Indices of scatter_add_along are sorted
// in one line per column, those of scatter_add in one line for all columns.
//
// Compiled once for each element type, SPMD_ELEMENT.
//
//===----------------------------------------------------------------------===//

#include "runtime/device/cuda/kernels/ScatterColumn.h"

namespace spmd::cuda {
namespace {

/// Neighboring columns that one thread adds up: as many as fit in 16 bytes, if the columns of a row are a multiple of
/// that.
constexpr int kWide = 16 / sizeof(Stored);

/// Sorted positions of which a block adds up the short runs; each ends at most kLongRun - 1 behind the last of them.
constexpr uint32_t kPlaces = kBlockThreads, kNearPlaces = kPlaces + kLongRun;

struct ShortRuns {
  uint32_t keys[kNearPlaces], positions[kNearPlaces];
  uint16_t begins[kPlaces], lengths[kPlaces];
  uint32_t warpSums[kBlockThreads / kWarp];
  uint32_t count;

  /// Loads keys and positions from flat place `base` on, and lists the short runs that begin there. Runs end with their
  /// line.
  SPMD_DEVICE void find(const uint32_t *allKeys, const uint32_t *allPositions, const Sizes &sizes, int64_t lines,
                        int64_t base) {
    uint32_t thread = threadIndex();
    int64_t all = lines * sizes.count;
    for (uint32_t i = thread; i < kNearPlaces; i += kBlockThreads)
      if (base + i < all) {
        keys[i] = allKeys[base + i];
        positions[i] = allPositions[base + i];
      }
    bool isBegin = false;
    uint32_t row = 0, most = 0;
    if (base + thread < all) {
      int64_t place = lines == 1 ? base + thread : divide(base + thread, sizes.count).remainder;
      row = allKeys[base + thread];
      isBegin = row < sizes.rows && (place == 0 || allKeys[base + thread - 1] != row);
      most = static_cast<uint32_t>(sizes.count - place <= kLongRun ? sizes.count - place : kLongRun + 1);
    }
    syncBlock();
    // A binary search for the first place with another key, among at most kLongRun places.
    uint32_t low = 0, high = most <= kLongRun ? most : uint32_t(kLongRun);
    if (isBegin && most > kLongRun && keys[thread + kLongRun] == row)
      isBegin = false;
    while (isBegin && low + 1 < high) {
      uint32_t middle = low + (high - low) / 2;
      if (keys[thread + middle] == row)
        low = middle;
      else
        high = middle;
    }
    uint32_t before = sumOfThreadsBelow(isBegin, warpSums);
    if (isBegin) {
      begins[before] = static_cast<uint16_t>(thread);
      lengths[before] = static_cast<uint16_t>(low + 1);
    }
    if (thread == kBlockThreads - 1)
      count = before + isBegin;
    syncBlock();
  }
};

/// A block has kPlaces sorted positions, and `group` packs of `width` neighboring columns. It first lists its runs:
/// then all threads add, and an update is loaded without waiting for its position.
template <int width>
SPMD_DEVICE void addShortRuns(const uint32_t *allKeys, const uint32_t *allPositions, const void *updates, void *result,
                              Sizes sizes, int64_t lines, int64_t group) {
  // Updates that are loaded at a time: as many as do not spill registers (PtxTest). Narrow types are converted, and
  // integers of less than 32 bits take a register each.
  constexpr uint32_t kAhead = width == 1 || sizeof(Stored) >= 4 ? 8
                              : sizeof(Value) == 4              ? 6
                              : sizeof(Value) == 2              ? 4
                                                                : 2;
  static SPMD_SHARED ShortRuns runs;
  int64_t packs = sizes.outer * sizes.inner / lines / width, groups = (packs + group - 1) / group;
  Quotient at = divide(blockIndex(), groups);
  int64_t base = at.quotient * kPlaces, firstPack = at.remainder * group;
  runs.find(allKeys, allPositions, sizes, lines, base);
  auto mine = static_cast<uint32_t>(packs - firstPack < group ? packs - firstPack : group);
  for (uint32_t item = threadIndex(); item < runs.count * mine; item += kBlockThreads) {
    uint32_t begin = runs.begins[item / mine], end = begin + runs.lengths[item / mine];
    int64_t line = lines == 1 ? 0 : divide(base + begin, sizes.count).quotient;
    Column<width> column(updates, result, sizes, (line * packs + firstPack + item % mine) * width);
    Pack<width> &target = column.at(runs.keys[begin]), first = target;
    Sums<width> sums(first);
    for (uint32_t next = begin; next < end; next += kAhead) {
      Pack<width> values[kAhead];
#pragma unroll
      for (uint32_t j = 0; j < kAhead; ++j)
        if (next + j < end)
          values[j] = column.read(runs.positions[next + j]);
#pragma unroll
      for (uint32_t j = 0; j < kAhead; ++j)
        if (next + j < end)
          sums.add(values[j]);
    }
    target = sums.round();
  }
}

/// Returns the end of the run that contains position `inside`: steps that double, then a binary search in the last one.
SPMD_DEVICE int64_t findEnd(const uint32_t *keys, uint32_t row, int64_t inside, int64_t count) {
  int64_t low = inside, step = kLongRun;
  while (low + step < count && keys[low + step] == row) {
    low += step;
    step *= 2;
  }
  int64_t high = low + step < count ? low + step : count;
  while (low + 1 < high) {
    int64_t middle = low + (high - low) / 2;
    if (keys[middle] > row)
      high = middle;
    else
      low = middle;
  }
  return high;
}

/// Returns the first position in (low, high] whose key is not less than `row`; the key at `high` is not less.
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

/// Adds the run [begin, end) to `width` columns (a power of two), one per thread of the first warp. While it adds a
/// stage, all threads load the updates of the next stage and the positions of the one after it: an addition waits for
/// the previous addition, not for memory.
SPMD_DEVICE void addLongRun(const uint32_t *positions, int64_t begin, int64_t end, const void *updates, void *result,
                            Sizes sizes, uint32_t row, int64_t firstColumn, int64_t columns, uint32_t width,
                            Value (&stage)[2][kRunStage]) {
  constexpr uint32_t kLoads = kRunStage / kBlockThreads;
  uint32_t thread = threadIndex(), stageRows = kRunStage / width;
  bool isInside = firstColumn + thread % width < columns;
  Column<1> column(updates, result, sizes, isInside ? firstColumn + thread % width : firstColumn);
  bool isAdder = thread < width && isInside;
  Value sum = isAdder ? Element::load(column.at(row).values[0]) : Value(0);
  // A thread loads every so many rows of a stage.
  uint32_t step = kBlockThreads / width, first = thread / width;
  uint32_t sources[kLoads];
  Value values[kLoads];
  auto findSources = [&](int64_t from) {
#pragma unroll
    for (uint32_t j = 0; j < kLoads; ++j) {
      int64_t place = from + first + j * step;
      sources[j] = place < end ? positions[place] : 0;
    }
  };
  // Beyond the end of the run: update 0, which is not added.
  auto fetch = [&] {
#pragma unroll
    for (uint32_t j = 0; j < kLoads; ++j)
      values[j] = Element::load(column.read(sources[j]).values[0]);
  };
  findSources(begin);
  fetch();
  findSources(begin + stageRows);
  uint32_t buffer = 0;
  for (int64_t from = begin; from < end; from += stageRows, buffer ^= 1) {
#pragma unroll
    for (uint32_t j = 0; j < kLoads; ++j)
      stage[buffer][j * kBlockThreads + thread] = values[j];
    syncBlock();
    fetch();
    findSources(from + 2 * stageRows);
    if (!isAdder)
      continue;
    const Value *mine = stage[buffer] + thread;
    auto rows = static_cast<uint32_t>(end - from < stageRows ? end - from : stageRows);
    // Rows that are read from shared memory ahead.
    constexpr uint32_t kAhead = 16;
    uint32_t r = 0;
    if (rows >= kAhead) {
      Value next[kAhead];
#pragma unroll
      for (uint32_t j = 0; j < kAhead; ++j)
        next[j] = mine[j * width];
      for (; r + 2 * kAhead <= rows; r += kAhead) {
        Value now[kAhead];
#pragma unroll
        for (uint32_t j = 0; j < kAhead; ++j) {
          now[j] = next[j];
          next[j] = mine[(r + kAhead + j) * width];
        }
#pragma unroll
        for (uint32_t j = 0; j < kAhead; ++j)
          sum += now[j];
      }
#pragma unroll
      for (uint32_t j = 0; j < kAhead; ++j)
        sum += next[j];
      r += kAhead;
    }
    for (; r < rows; ++r)
      sum += mine[r * width];
  }
  if (isAdder)
    column.at(row).values[0] = Element::store(sum);
  syncBlock();
}

struct Run {
  int64_t begin, end; ///< Equal if there is no run.
  uint32_t row;
};

/// Returns the long run that contains `place`, if `place` is the first multiple of kLongRun in it: each long run has
/// exactly one.
SPMD_DEVICE Run findLongRun(const uint32_t *keys, int64_t place, const Sizes &sizes) {
  uint32_t row = keys[place];
  if (row >= sizes.rows || (place > 0 && keys[place - kLongRun] == row))
    return {};
  int64_t begin = place > 0 ? findBegin(keys, row, place - kLongRun, place) : 0;
  if (begin + kLongRun >= sizes.count || keys[begin + kLongRun] != row)
    return {};
  return {begin, findEnd(keys, row, begin + kLongRun, sizes.count), row};
}

/// A unit is so many multiples of kLongRun, and `width` columns. Its threads look for the runs together, because
/// usually there are none.
SPMD_DEVICE void addLongRuns(const uint32_t *allKeys, const uint32_t *allPositions, const void *updates, void *result,
                             Sizes sizes, int64_t lines, uint32_t width, int64_t blocks) {
  static SPMD_SHARED Value stage[2][kRunStage];
  static SPMD_SHARED Run runs[kRunPlaces];
  int64_t columns = sizes.outer * sizes.inner / lines, groups = (columns + width - 1) / width;
  int64_t parts = (sizes.count + kRunPlaces * kLongRun - 1) / (kRunPlaces * kLongRun);
  for (int64_t unit = blockIndex(); unit < lines * parts * groups; unit += blocks) {
    Quotient at = divide(unit, groups), part = divide(at.quotient, parts);
    int64_t line = part.quotient;
    const uint32_t *keys = allKeys + line * sizes.count, *positions = allPositions + line * sizes.count;
    if (threadIndex() < kRunPlaces) {
      int64_t place = (part.remainder * kRunPlaces + threadIndex()) * kLongRun;
      runs[threadIndex()] = place < sizes.count ? findLongRun(keys, place, sizes) : Run{};
    }
    syncBlock();
    for (uint32_t i = 0; i < kRunPlaces; ++i)
      if (Run run = runs[i]; run.begin < run.end)
        addLongRun(positions, run.begin, run.end, updates, result, sizes, run.row,
                   line * columns + at.remainder * width, (line + 1) * columns, width, stage);
    syncBlock();
  }
}

/// One thread per update and column; the first update with an index adds all updates with that index.
SPMD_DEVICE void addFew(const void *indices, int64_t indexBytes, bool isAlong, const void *updates, void *result,
                        Sizes sizes, int64_t blocks) {
  int64_t columns = sizes.outer * sizes.inner, units = sizes.count * columns;
  for (int64_t unit = static_cast<int64_t>(blockIndex()) * kBlockThreads + threadIndex(); unit < units;
       unit += blocks * kBlockThreads) {
    Quotient at = divide(unit, columns), flat = divide(at.remainder, sizes.inner);
    int64_t mine = at.quotient;
    // First index of this column.
    int64_t start = isAlong ? flat.quotient * sizes.count * sizes.inner + flat.remainder : 0;
    int64_t step = isAlong ? sizes.inner : 1;
    int64_t row = readIndex(indices, start + mine * step, indexBytes, sizes.rows);
    bool isFirst = row >= 0;
    for (int64_t m = 0; m < mine && isFirst; ++m)
      isFirst = readIndex(indices, start + m * step, indexBytes, sizes.rows) != row;
    if (!isFirst)
      continue;
    Column<1> column(updates, result, sizes, at.remainder);
    Sums<1> sum(column.at(row));
    for (int64_t m = mine; m < sizes.count; ++m)
      if (m == mine || readIndex(indices, start + m * step, indexBytes, sizes.rows) == row)
        sum.add(column.read(m));
    column.at(row) = sum.round();
  }
}

} // namespace

// The kernels with a parameter `blocks` take so many blocks.
SPMD_KERNEL(1)
spmd_scatter_few(const void *indices, int64_t indexBytes, int64_t isAlong, const void *updates, void *result,
                 int64_t outer, int64_t rows, int64_t count, int64_t inner, int64_t blocks) {
  addFew(indices, indexBytes, isAlong, updates, result, {outer, rows, count, inner}, blocks);
}

SPMD_KERNEL(3)
spmd_scatter_short(const uint32_t *keys, const uint32_t *positions, const void *updates, void *result, int64_t outer,
                   int64_t rows, int64_t count, int64_t inner, int64_t lines, int64_t group) {
  addShortRuns<1>(keys, positions, updates, result, {outer, rows, count, inner}, lines, group);
}

/// `inner` and the number of columns of a line are multiples of the number of elements in 16 bytes.
SPMD_KERNEL(3)
spmd_scatter_short_wide(const uint32_t *keys, const uint32_t *positions, const void *updates, void *result,
                        int64_t outer, int64_t rows, int64_t count, int64_t inner, int64_t lines, int64_t group) {
  addShortRuns<kWide>(keys, positions, updates, result, {outer, rows, count, inner}, lines, group);
}

SPMD_KERNEL(2)
spmd_scatter_long(const uint32_t *keys, const uint32_t *positions, const void *updates, void *result, int64_t outer,
                  int64_t rows, int64_t count, int64_t inner, int64_t lines, int64_t width, int64_t blocks) {
  addLongRuns(keys, positions, updates, result, {outer, rows, count, inner}, lines, static_cast<uint32_t>(width),
              blocks);
}

} // namespace spmd::cuda
