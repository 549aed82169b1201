//===- OwnMatmul.cpp - products by our own kernels ------------------------===//

#include "runtime/device/cpu/BlockedMatmul.h"
#include "runtime/device/cpu/GemmOperand.h"
#include "runtime/device/cpu/Mirror.h"

#include <algorithm>
#include <cstring>
#include <new>

namespace spmd {
namespace {

int64_t ceilDiv(int64_t a, int64_t b) { return (a + b - 1) / b; }
int64_t alignUp(int64_t bytes) { return ceilDiv(bytes, 64) * 64; }

/// Processes a band of rows at a time, with k in blocks. The left side's block is packed once for all tasks. Then each
/// task packs the right side's block of its columns and multiplies tile by tile. A tile of the left side stays in the
/// L1 cache, the task's right side in the L2 cache.
///
/// Of a symmetric result the tiles below the diagonal are copies of those above it, with the same bits: both are sums
/// of the same products in the same order.
class OwnMatmul final : public Matmul {
public:
  OwnMatmul(const MatmulShape &shape, int threads, const GemmKernel &kernel)
      : shape(shape), threads(threads), kernel(kernel), lhs(GemmOperand::ofLhs(shape)), rhs(GemmOperand::ofRhs(shape)) {
    int64_t bytes = kernel.unitBytes;
    int64_t panels = std::max<int64_t>(ceilDiv(shape.n, kernel.tileColumns), 1);
    isSymmetric = isComputedByHalf(shape);
    isColumnParallel = threads > 1 && !isSymmetric && shape.batch == 1 && shape.m <= fewRows && panels > 1 &&
                       shape.k > tileBlockBytes / bytes * kernel.group;
    int64_t taskPanels = isColumnParallel ? ceilDiv(panels, 2 * threads) : panels;
    groupColumns = std::min(groupPanels, taskPanels) * kernel.tileColumns;
    groups = ceilDiv(shape.n, groupColumns);
    // Each row is multiplied with one group of columns: packing it would take half as long as multiplying. But rows a
    // multiple of a page apart evict each other from the L1 cache while a tile reads them.
    bool isSpread = lhs.getLineStride() * byteSize(shape.operand) % 4096 != 0;
    isLhsPacked = !kernel.multiplyLines || groups > 1 || !lhs.isContiguous() || !isSpread;
    kBlock = std::min(shape.k, (isLhsPacked ? 1 : unpackedBlocks) * tileBlockBytes / bytes * kernel.group);
    for (int64_t begin = 0; begin < shape.k; begin += kBlock) {
      int64_t k = std::min(kBlock, shape.k - begin);
      runs.push_back({lhs.runsOf(begin, k), rhs.runsOf(begin, k)});
    }
    // Bands of equal size, because each packs the full right side again. Without a packed left side there is one.
    int64_t tiles = ceilDiv(shape.m, kernel.tileRows);
    bandTiles = isLhsPacked ? ceilDiv(tiles, std::max<int64_t>(ceilDiv(shape.m, bandRows), 1)) : tiles;
    lhsBytes = isLhsPacked ? alignUp(bandTiles * kernel.tileRows * units(kBlock) * bytes) : 0;
    packedBytes = alignUp(groupColumns * units(kBlock) * bytes);
    rhsBytes = 2 * packedBytes;
    bool needsSums = !kernel.canAccumulate && kBlock < shape.k;
    sumsBytes = needsSums ? alignUp(std::min(bandTiles * kernel.tileRows, shape.m) * shape.n * bytes) : 0;
    // Splits rows if there are too few column groups to give all threads tasks.
    bool isSplit = threads > 1 && !isBatchParallel() && !isColumnParallel;
    int64_t rowSplits = isSplit ? std::min(bandTiles, ceilDiv(4 * threads, groups)) : 1;
    // Each part packs the columns again, so it should have rows enough.
    if (groups >= threads)
      rowSplits = std::min(rowSplits, std::max<int64_t>(shape.m / splitRows, 1));
    // The rows of a chunk should be in a cache still when their epilogue runs.
    chunkTiles = std::clamp<int64_t>(ceilDiv(bandTiles, rowSplits), 1, ceilDiv(bandRows, kernel.tileRows));
  }
  std::string getMethod() const override { return isSymmetric ? "own, symmetric" : "own"; }

  int64_t getScratchBytes() const override {
    return isBatchParallel() || isColumnParallel
               ? threads * (lhsBytes + sumsBytes + rhsBytes)
               : lhsBytes + sumsBytes + threads * rhsBytes + alignUp(bandTiles * int64_t(sizeof(Counter)));
  }

  void run(ParallelFor &parallelFor, const void *lhs, const void *rhs, void *result, void *scratchData,
           RowsDone rowsDone) override {
    if (shape.batch == 0 || shape.m == 0 || shape.n == 0)
      return;
    char *scratch = static_cast<char *>(scratchData);
    if (shape.k == 0) {
      std::memset(result, 0, shape.batch * shape.m * shape.n * byteSize(shape.result));
      rowsDone(0, shape.batch * shape.m);
    } else if (isBatchParallel()) {
      parallelFor.run(shape.batch, 1, [&](int64_t begin, int64_t end, int thread) {
        char *own = scratch + thread * (lhsBytes + sumsBytes + rhsBytes);
        auto serial = [&](int64_t extent, auto body) { body(int64_t(0), extent, 0); };
        for (int64_t b = begin; b < end && !parallelFor.shouldStop(); ++b) {
          Element e = element(b, lhs, rhs, result);
          multiply(e, serial, parallelFor, own, nullptr, isSymmetric ? RowsDone() : rowsDone, 0, groups);
          if (isSymmetric)
            finishSymmetric(e, serial, rowsDone);
        }
      });
    } else if (isColumnParallel) {
      parallelFor.run(groups, 1, [&](int64_t begin, int64_t end, int thread) {
        char *own = scratch + thread * (lhsBytes + sumsBytes + rhsBytes);
        auto serial = [&](int64_t extent, auto body) { body(int64_t(0), extent, 0); };
        for (int64_t group = begin; group < end && !parallelFor.shouldStop(); ++group)
          multiply(element(0, lhs, rhs, result), serial, parallelFor, own, nullptr, {}, group, 1);
      });
      rowsDone(0, shape.m);
    } else {
      auto *counters = reinterpret_cast<Counter *>(scratch + lhsBytes + sumsBytes + threads * rhsBytes);
      // A single thread runs the loop in one call, so that it always knows the next block to pack; the loops themselves
      // check whether to stop.
      auto parallel = [&](int64_t extent, auto body) {
        threads == 1 ? body(int64_t(0), extent, 0) : parallelFor.run(extent, 1, body);
      };
      for (int64_t b = 0; b < shape.batch && !parallelFor.shouldStop(); ++b) {
        Element e = element(b, lhs, rhs, result);
        multiply(e, parallel, parallelFor, scratch, counters, isSymmetric ? RowsDone() : rowsDone, 0, groups);
        if (isSymmetric && !parallelFor.shouldStop())
          finishSymmetric(e, parallel, rowsDone);
      }
    }
  }

private:
  using Counter = std::atomic<int64_t>;
  /// Bytes of one packed row or column of a block of k: 12 rows are 24 KiB, the L1 cache has 32 or more.
  static constexpr int64_t tileBlockBytes = 2048;
  /// Blocks of k of an unpacked left side are this many times as long: they need not stay in the L1 cache, and each
  /// reads and writes the result once.
  static constexpr int64_t unpackedBlocks = 2;
  /// Rows whose left side is packed at a time, and panels of columns that one task packs (256 KiB for AVX-512; the next
  /// panels are packed beside them meanwhile).
  static constexpr int64_t bandRows = 1152, groupPanels = 4;
  /// Up to so many rows, with many blocks of k, each task packs its own left side, and threads meet once and not in
  /// each block of k.
  static constexpr int64_t fewRows = 128;
  /// Rows for which packing a task's columns again takes little time.
  static constexpr int64_t splitRows = 128;
  /// Rows of a symmetric result that one task copies or finishes: its loops are short of rows for all threads else.
  static constexpr int64_t mirroredRows = 32;

  /// Where the elements of a block of k are.
  struct Runs {
    std::vector<LineRun> lhs, rhs;
  };

  /// The operands of one product of the batch, and its result. The strides are those of matrices (isMatrix).
  struct Element {
    int64_t index;
    MatrixView lhs, rhs;
    char *result;
  };

  Element element(int64_t b, const void *lhsData, const void *rhsData, void *result) const {
    int64_t bytes = byteSize(shape.operand);
    return {
        b,
        {static_cast<const char *>(lhsData) + lhs.startOfBatch(b) * bytes, lhs.getLineStride(), lhs.getElementStride()},
        {static_cast<const char *>(rhsData) + rhs.startOfBatch(b) * bytes, rhs.getElementStride(), rhs.getLineStride()},
        static_cast<char *>(result) + b * shape.m * shape.n * byteSize(shape.result)};
  }

  int64_t units(int64_t k) const { return ceilDiv(k, kernel.group); }

  MatrixView at(MatrixView view, int64_t row, int64_t column) const {
    view.data = static_cast<const char *>(view.data) +
                (row * view.rowStride + column * view.columnStride) * byteSize(shape.operand);
    return view;
  }

  /// Packs rows [row, row + count) of the left side.
  void packLhs(const Element &e, int64_t row, int64_t count, int64_t kBegin, int64_t k,
               const std::vector<LineRun> &runs, void *packed) const {
    if (lhs.isMatrix())
      return kernel.packLhs(at(e.lhs, row, kBegin), count, k, packed);
    kernel.packLhsLines(TileLines(lhs, row, count).at(e.lhs.data, runs), packed);
  }

  /// Packs columns [column, column + count) of the right side, panel by panel.
  void packRhs(const Element &e, int64_t column, int64_t count, int64_t kBegin, int64_t k,
               const std::vector<LineRun> &runs, char *packed) const {
    if (rhs.isMatrix())
      return kernel.packRhs(at(e.rhs, kBegin, column), k, count, packed);
    int64_t width = kernel.tileColumns;
    for (int64_t j = 0; j < count; j += width)
      kernel.packRhsLines(TileLines(rhs, column + j, std::min(width, count - j)).at(e.rhs.data, runs),
                          packed + j * units(k) * kernel.unitBytes);
  }

  /// With many small products each thread computes entire products. That affects the work of threads only, not the
  /// bits.
  bool isBatchParallel() const {
    return shape.batch > 1 && (threads == 1 || shape.batch >= 4 * threads || shape.m * shape.n < 1 << 14);
  }

  /// Computes `groupCount` groups of columns of one product in the scratch memory [left side][sums][right side of each
  /// thread]. `loop(extent, body)` distributes body(begin, end, thread). With `counters` the tasks of a band may run
  /// concurrently, and the last task of a chunk of rows reports the rows.
  template <typename Loop>
  void multiply(const Element &e, Loop loop, const ParallelFor &parallelFor, char *scratch, Counter *counters,
                RowsDone rowsDone, int64_t firstGroup, int64_t groupCount) const {
    char *lhsPacked = scratch, *sums = lhsPacked + lhsBytes, *rhsPacked = sums + sumsBytes;
    int64_t rows = kernel.tileRows;
    auto columnOf = [&](int64_t task) { return (firstGroup + task % groupCount) * groupColumns; };
    for (int64_t first = 0; first < shape.m; first += bandTiles * rows) {
      int64_t tiles = std::min(bandTiles, ceilDiv(shape.m - first, rows)), chunks = ceilDiv(tiles, chunkTiles);
      for (int64_t i = 0; counters && i < chunks; ++i)
        new (&counters[i]) Counter(0);
      for (int64_t kBegin = 0; kBegin < shape.k && !parallelFor.shouldStop(); kBegin += kBlock) {
        int64_t k = std::min(kBlock, shape.k - kBegin);
        int64_t tileBytes = rows * units(k) * kernel.unitBytes;
        bool isLast = kBegin + k == shape.k;
        const Runs &blockRuns = runs[static_cast<size_t>(kBegin / kBlock)];
        if (isLhsPacked)
          loop(tiles, [&](int64_t begin, int64_t end, int) {
            for (int64_t tile = begin; tile < end; ++tile) {
              int64_t row = first + tile * rows;
              packLhs(e, row, std::min(rows, shape.m - row), kBegin, k, blockRuns.lhs, lhsPacked + tile * tileBytes);
            }
          });
        loop(chunks * groupCount, [&](int64_t begin, int64_t end, int thread) {
          char *packed = rhsPacked + thread * rhsBytes, *nextPacked = packed + packedBytes;
          bool isPacked = false;
          // Tasks with tiles below the diagonal of a symmetric result alone have nothing to do.
          auto skipIdle = [&](int64_t task) {
            while (isSymmetric && task < end &&
                   first + task / groupCount * chunkTiles * rows >= columnOf(task) + groupColumns)
              ++task;
            return task;
          };
          for (int64_t task = skipIdle(begin), next; task < end && !parallelFor.shouldStop(); task = next) {
            next = skipIdle(task + 1);
            int64_t chunk = task / groupCount, column = columnOf(task);
            int64_t tileBegin = chunk * chunkTiles, tileEnd = std::min(tileBegin + chunkTiles, tiles);
            if (isSymmetric)
              tileEnd = std::min(tileEnd, ceilDiv(column + groupColumns - first, rows));
            if (!isPacked)
              packRhs(e, column, std::min(groupColumns, shape.n - column), kBegin, k, blockRuns.rhs, packed);
            // The next chunk of rows may need the same columns.
            bool isNextPacked = next < end && columnOf(next) == column;
            PackAhead ahead;
            if (next < end && !isNextPacked)
              ahead = packAhead(e.rhs, kBegin, columnOf(next), k, nextPacked);
            int64_t calls = (tileEnd - tileBegin) * ceilDiv(groupColumns, kernel.tileColumns);
            for (int64_t tile = tileBegin; tile < tileEnd; ++tile) {
              TileResult target = resultAt(e, sums, first, tile * rows, column, kBegin == 0, isLast);
              if (isLhsPacked)
                multiplyTiles(lhsPacked + tile * tileBytes, packed, first + tile * rows, k, column, target, ahead,
                              ceilDiv(ahead.getStepCount(), calls));
              else
                multiplyLines(e, blockRuns.lhs, packed, first + tile * rows, k, target);
            }
            if (isNextPacked) {
              isPacked = true;
            } else if ((isPacked = ahead.panels > 0)) {
              kernel.finishPacking(ahead);
              packRest(e.rhs, kBegin, columnOf(next), k, nextPacked);
              std::swap(packed, nextPacked);
            }
            if (!isLast || (counters && counters[chunk].fetch_add(1, std::memory_order_acq_rel) + 1 < groupCount))
              continue;
            if (counters || column + groupColumns >= shape.n)
              rowsDone(e.index * shape.m + first + tileBegin * rows,
                       e.index * shape.m + std::min(shape.m, first + tileEnd * rows));
          }
        });
      }
    }
  }

  /// Copies the half above the diagonal, then reports the rows: an epilogue may change them in place.
  template <typename Loop> void finishSymmetric(const Element &e, Loop loop, RowsDone rowsDone) const {
    int64_t parts = ceilDiv(shape.m, mirroredRows), base = e.index * shape.m;
    auto rowOf = [&](int64_t part) { return std::min(part * mirroredRows, shape.m); };
    loop(parts, [&](int64_t begin, int64_t end, int) {
      mirrorRows(e.result, shape.n, byteSize(shape.result), rowOf(begin), rowOf(end));
    });
    if (rowsDone.function)
      loop(parts, [&](int64_t begin, int64_t end, int) { rowsDone(base + rowOf(begin), base + rowOf(end)); });
  }

  /// Returns the result at `row` of the band that begins at `first`, and its sums.
  TileResult resultAt(const Element &e, char *sums, int64_t first, int64_t row, int64_t column, bool isFirst,
                      bool isLast) const {
    char *result = e.result + ((first + row) * shape.n + column) * byteSize(shape.result);
    if (sumsBytes > 0)
      sums += (row * shape.n + column) * kernel.unitBytes;
    return {result, shape.n, kernel.canAccumulate ? result : sums, shape.n, isFirst, isLast};
  }

  void multiplyTiles(const char *lhsTile, const char *packed, int64_t row, int64_t k, int64_t column, TileResult target,
                     PackAhead &ahead, int64_t steps) const {
    int64_t width = kernel.tileColumns, end = std::min(column + groupColumns, shape.n);
    for (int64_t j = column; j < end; j += width) {
      kernel.multiplyTile(lhsTile, packed + (j - column) * units(k) * kernel.unitBytes,
                          std::min(kernel.tileRows, shape.m - row), k, std::min(width, end - j), target, ahead, steps);
      target.result = static_cast<char *>(target.result) + width * byteSize(shape.result);
      target.sums = static_cast<char *>(target.sums) + width * kernel.unitBytes;
    }
  }

  /// The same with rows of the left side where they are, for all columns.
  void multiplyLines(const Element &e, const std::vector<LineRun> &runs, const char *packed, int64_t row, int64_t k,
                     TileResult target) const {
    TileLines lines(lhs, row, std::min(kernel.tileRows, shape.m - row));
    for (int64_t j = 0; j < shape.n; j += kernel.tileColumns) {
      kernel.multiplyLines(lines.at(e.lhs.data, runs), packed + j * units(k) * kernel.unitBytes,
                           std::min(kernel.tileColumns, shape.n - j), target);
      target.result = static_cast<char *>(target.result) + kernel.tileColumns * byteSize(shape.result);
      target.sums = static_cast<char *>(target.sums) + kernel.tileColumns * kernel.unitBytes;
    }
  }

  /// Returns the full panels of a task's columns, to be packed along with tiles; none if the right side is no row-major
  /// matrix.
  PackAhead packAhead(MatrixView matrix, int64_t kBegin, int64_t column, int64_t k, void *packed) const {
    int64_t panels = std::min(groupColumns, shape.n - column) / kernel.tileColumns;
    bool isRowMajor = rhs.isMatrix() && matrix.columnStride == 1;
    return {at(matrix, kBegin, column), packed, k, units(k), isRowMajor ? panels : 0};
  }

  /// Packs the columns of a task beyond its full panels.
  void packRest(MatrixView matrix, int64_t kBegin, int64_t column, int64_t k, char *packed) const {
    int64_t columns = std::min(groupColumns, shape.n - column),
            fullColumns = columns / kernel.tileColumns * kernel.tileColumns;
    if (fullColumns < columns)
      kernel.packRhs(at(matrix, kBegin, column + fullColumns), k, columns - fullColumns,
                     packed + fullColumns * units(k) * kernel.unitBytes);
  }

  const MatmulShape shape;
  const int threads;
  const GemmKernel kernel;
  const GemmOperand lhs, rhs;
  std::vector<Runs> runs; ///< By block of k: a run allocates nothing.
  bool isLhsPacked = true, isColumnParallel = false, isSymmetric = false;
  int64_t kBlock, bandTiles, chunkTiles, groupColumns, groups, lhsBytes, packedBytes, rhsBytes, sumsBytes;
};

} // namespace

bool isComputedByHalf(const MatmulShape &shape) {
  // With fewer rows nearly all tiles cross the diagonal; for a shorter k, copying may take longer than multiplying.
  constexpr int64_t leastRows = 128, leastK = 64;
  return shape.isGram && !shape.hasViews() && shape.m == shape.n && shape.m >= leastRows && shape.k >= leastK;
}

std::unique_ptr<Matmul> createOwnMatmul(const MatmulShape &shape, int threads, CpuIsa isa) {
  GemmKernel kernel = findGemmKernel(shape.operand, shape.result, isa);
  if (!kernel.multiplyTile)
    return nullptr;
  if (shape.hasViews())
    return std::make_unique<OwnMatmul>(shape, threads, kernel);
  if (auto small = createSmallMatmul(shape, kernel))
    return small;
  if (auto thin = createThinMatmul(shape, threads, kernel))
    return thin;
  return std::make_unique<OwnMatmul>(shape, threads, kernel);
}

} // namespace spmd
