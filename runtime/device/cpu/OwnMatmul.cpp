//===- OwnMatmul.cpp - products by our own kernels ------------------------===//

#include "runtime/device/cpu/BlockedMatmul.h"
#include "runtime/device/cpu/Gemm.h"

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
class OwnMatmul final : public Matmul {
public:
  OwnMatmul(const MatmulShape &shape, int threads, const GemmKernel &kernel)
      : shape(shape), threads(threads), kernel(kernel) {
    int64_t bytes = kernel.unitBytes;
    kBlock = std::min(shape.k, tileBlockBytes / bytes * kernel.group);
    // Bands of equal size, because each packs the full right side again.
    int64_t tiles = ceilDiv(shape.m, kernel.tileRows);
    bandTiles = ceilDiv(tiles, std::max<int64_t>(ceilDiv(shape.m, bandRows), 1));
    groupColumns = std::min(groupPanels, ceilDiv(shape.n, kernel.tileColumns)) * kernel.tileColumns;
    groups = ceilDiv(shape.n, groupColumns);
    lhsBytes = alignUp(bandTiles * kernel.tileRows * units(kBlock) * bytes);
    packedBytes = alignUp(groupColumns * units(kBlock) * bytes);
    rhsBytes = 2 * packedBytes;
    bool needsSums = !kernel.canAccumulate && kBlock < shape.k;
    sumsBytes = needsSums ? alignUp(std::min(bandTiles * kernel.tileRows, shape.m) * shape.n * bytes) : 0;
    // Splits rows if there are too few column groups to give all threads tasks.
    int64_t rowSplits = threads == 1 ? 1 : std::min(bandTiles, ceilDiv(4 * threads, groups));
    chunkTiles = ceilDiv(bandTiles, rowSplits);
  }
  std::string getMethod() const override { return "own"; }

  int64_t getScratchBytes() const override {
    return isBatchParallel()
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
        for (int64_t b = begin; b < end && !parallelFor.shouldStop(); ++b)
          multiply(element(b, lhs, rhs, result), serial, parallelFor, own, nullptr, rowsDone);
      });
    } else {
      auto *counters = reinterpret_cast<Counter *>(scratch + lhsBytes + sumsBytes + threads * rhsBytes);
      // A single thread runs the loop in one call, so that it always knows the next block to pack; the loops themselves
      // check whether to stop.
      auto parallel = [&](int64_t extent, auto body) {
        threads == 1 ? body(int64_t(0), extent, 0) : parallelFor.run(extent, 1, body);
      };
      for (int64_t b = 0; b < shape.batch && !parallelFor.shouldStop(); ++b)
        multiply(element(b, lhs, rhs, result), parallel, parallelFor, scratch, counters, rowsDone);
    }
  }

private:
  using Counter = std::atomic<int64_t>;
  /// Bytes of one packed row or column of a block of k: 12 rows are 24 KiB, the L1 cache has 32 or more.
  static constexpr int64_t tileBlockBytes = 2048;
  /// Rows whose left side is packed at a time, and panels of columns that one task packs (256 KiB for AVX-512; the next
  /// panels are packed beside them meanwhile).
  static constexpr int64_t bandRows = 1152, groupPanels = 4;

  struct Element {
    int64_t index;
    MatrixView lhs, rhs;
    char *result;
  };

  Element element(int64_t b, const void *lhs, const void *rhs, void *result) const {
    int64_t bytes = byteSize(shape.operand);
    return {b,
            {static_cast<const char *>(lhs) + b * shape.m * shape.k * bytes, shape.transposeLhs ? 1 : shape.k,
             shape.transposeLhs ? shape.m : 1},
            {static_cast<const char *>(rhs) + b * shape.k * shape.n * bytes, shape.transposeRhs ? 1 : shape.n,
             shape.transposeRhs ? shape.k : 1},
            static_cast<char *>(result) + b * shape.m * shape.n * byteSize(shape.result)};
  }

  int64_t units(int64_t k) const { return ceilDiv(k, kernel.group); }

  MatrixView at(MatrixView view, int64_t row, int64_t column) const {
    view.data = static_cast<const char *>(view.data) +
                (row * view.rowStride + column * view.columnStride) * byteSize(shape.operand);
    return view;
  }

  /// With many small products each thread computes entire products. That affects the work of threads only, not the
  /// bits.
  bool isBatchParallel() const {
    return shape.batch > 1 && (threads == 1 || shape.batch >= 4 * threads || shape.m * shape.n < 1 << 14);
  }

  /// Computes one product in the scratch memory [left side][sums][right side of each thread]. `loop(extent, body)`
  /// distributes body(begin, end, thread). With `counters` the tasks of a band may run concurrently, and the last task
  /// of a chunk of rows reports the rows.
  template <typename Loop>
  void multiply(const Element &e, Loop loop, const ParallelFor &parallelFor, char *scratch, Counter *counters,
                RowsDone rowsDone) const {
    char *lhsPacked = scratch, *sums = lhsPacked + lhsBytes, *rhsPacked = sums + sumsBytes;
    int64_t rows = kernel.tileRows;
    for (int64_t first = 0; first < shape.m; first += bandTiles * rows) {
      int64_t tiles = std::min(bandTiles, ceilDiv(shape.m - first, rows)), chunks = ceilDiv(tiles, chunkTiles);
      for (int64_t i = 0; counters && i < chunks; ++i)
        new (&counters[i]) Counter(0);
      for (int64_t kBegin = 0; kBegin < shape.k && !parallelFor.shouldStop(); kBegin += kBlock) {
        int64_t k = std::min(kBlock, shape.k - kBegin);
        int64_t tileBytes = rows * units(k) * kernel.unitBytes;
        bool isLast = kBegin + k == shape.k;
        loop(tiles, [&](int64_t begin, int64_t end, int) {
          for (int64_t tile = begin; tile < end; ++tile) {
            int64_t row = first + tile * rows;
            kernel.packLhs(at(e.lhs, row, kBegin), std::min(rows, shape.m - row), k, lhsPacked + tile * tileBytes);
          }
        });
        loop(chunks * groups, [&](int64_t begin, int64_t end, int thread) {
          char *packed = rhsPacked + thread * rhsBytes, *nextPacked = packed + packedBytes;
          bool isPacked = false;
          for (int64_t task = begin; task < end && !parallelFor.shouldStop(); ++task) {
            int64_t chunk = task / groups, column = task % groups * groupColumns;
            int64_t tileBegin = chunk * chunkTiles, tileEnd = std::min(tileBegin + chunkTiles, tiles);
            if (!isPacked)
              kernel.packRhs(at(e.rhs, kBegin, column), k, std::min(groupColumns, shape.n - column), packed);
            PackAhead ahead;
            if (task + 1 < end)
              ahead = packAhead(e.rhs, kBegin, (task + 1) % groups * groupColumns, k, nextPacked);
            int64_t calls = (tileEnd - tileBegin) * ceilDiv(groupColumns, kernel.tileColumns);
            for (int64_t tile = tileBegin; tile < tileEnd; ++tile)
              multiplyTiles(lhsPacked + tile * tileBytes, packed, first + tile * rows, k, column,
                            resultAt(e, sums, first, tile * rows, column, kBegin == 0, isLast), ahead,
                            ceilDiv(ahead.getStepCount(), calls));
            if ((isPacked = ahead.panels > 0)) {
              kernel.finishPacking(ahead);
              packRest(e.rhs, kBegin, (task + 1) % groups * groupColumns, k, nextPacked);
              std::swap(packed, nextPacked);
            }
            if (!isLast || (counters && counters[chunk].fetch_add(1, std::memory_order_acq_rel) + 1 < groups))
              continue;
            if (counters || column + groupColumns >= shape.n)
              rowsDone(e.index * shape.m + first + tileBegin * rows,
                       e.index * shape.m + std::min(shape.m, first + tileEnd * rows));
          }
        });
      }
    }
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

  /// Returns the full panels of a task's columns, to be packed along with tiles; none if the right side is
  /// column-major.
  PackAhead packAhead(MatrixView rhs, int64_t kBegin, int64_t column, int64_t k, void *packed) const {
    int64_t panels = std::min(groupColumns, shape.n - column) / kernel.tileColumns;
    return {at(rhs, kBegin, column), packed, k, units(k), rhs.columnStride == 1 ? panels : 0};
  }

  /// Packs the columns of a task beyond its full panels.
  void packRest(MatrixView rhs, int64_t kBegin, int64_t column, int64_t k, char *packed) const {
    int64_t columns = std::min(groupColumns, shape.n - column),
            fullColumns = columns / kernel.tileColumns * kernel.tileColumns;
    if (fullColumns < columns)
      kernel.packRhs(at(rhs, kBegin, column + fullColumns), k, columns - fullColumns,
                     packed + fullColumns * units(k) * kernel.unitBytes);
  }

  const MatmulShape shape;
  const int threads;
  const GemmKernel kernel;
  int64_t kBlock, bandTiles, chunkTiles, groupColumns, groups, lhsBytes, packedBytes, rhsBytes, sumsBytes;
};

} // namespace

std::unique_ptr<Matmul> createOwnMatmul(const MatmulShape &shape, int threads, CpuIsa isa) {
  GemmKernel kernel = findGemmKernel(shape.operand, shape.result, isa);
  if (!kernel.multiplyTile)
    return nullptr;
  if (auto thin = createThinMatmul(shape, threads, kernel))
    return thin;
  return std::make_unique<OwnMatmul>(shape, threads, kernel);
}

} // namespace spmd
