//===- ThinMatmul.cpp - products of a few rows or columns -----------------===//

#include "runtime/device/cpu/BlockedMatmul.h"
#include "runtime/device/cpu/Gemm.h"

#include <algorithm>
#include <cstring>

namespace spmd {
namespace {

/// The most rows and columns for which packing the other side costs more than it saves. Packed bytes are multiplied in
/// pairs. Dot products, of contiguous columns, end with a sum over a vector's elements (16 x 64 x 64: 2.2 us,
/// packed 1.6).
int64_t getMostRows(const MatmulShape &shape) {
  bool isDominatedByEnds = shape.transposeRhs && shape.k < 128;
  return isFloat(shape.operand) && !isDominatedByEnds ? 16 : 4;
}
/// bf16 has instructions that multiply packed pairs, on some CPUs (2304 x 8 x 768: 470 us, oneDNN 270).
int64_t getMostColumns(const MatmulShape &shape) {
  return isFloat(shape.operand) && shape.operand != DType::BF16 ? 8 : 4;
}

/// Lines of a block, of `count`: at most `most`, a multiple of 64, as sums are in full vectors; each thread has as many
/// blocks as the others.
int64_t getBlockLines(int64_t count, int64_t most, int threads) {
  int64_t blocks = std::max<int64_t>((count + most * threads - 1) / (most * threads) * threads, 1);
  return std::max<int64_t>((count + 64 * blocks - 1) / (64 * blocks), 1) * 64;
}

MatrixView viewOf(const void *data, bool isTransposed, int64_t rows, int64_t columns) {
  return {data, isTransposed ? 1 : columns, isTransposed ? rows : 1};
}

MatrixView transpose(MatrixView view) { return {view.data, view.columnStride, view.rowStride}; }

/// Copies lines of `count` elements of `bytes` bytes, which are `lines` apart, one behind the other.
void turn(const char *source, int64_t lines, int64_t count, int64_t bytes, char *target) {
  for (int64_t i = 0; i < count; ++i)
    for (int64_t line = 0; line < lines; ++line)
      std::memcpy(target + (line * count + i) * bytes, source + (i * lines + line) * bytes, bytes);
}

/// For a few rows: reads the right side once, in place.
class FewRowsMatmul final : public BlockedMatmul {
public:
  FewRowsMatmul(const MatmulShape &shape, int threads, const GemmKernel &kernel)
      : BlockedMatmul(shape, threads), kernel(kernel) {
    Blocking sizes;
    sizes.rowBlock = std::max<int64_t>(shape.m, 1);
    sizes.panelColumns = getBlockLines(shape.n, 1024, threads);
    sumsBytes = sizes.rowBlock * sizes.panelColumns * kernel.unitBytes;
    copiesLhs = shape.transposeLhs && shape.transposeRhs && shape.m > 1;
    sizes.threadScratchBytes = sumsBytes + (copiesLhs ? shape.m * shape.k * byteSize(shape.operand) : 0);
    setBlocking(sizes);
  }
  std::string getMethod() const override { return "own, unpacked"; }

protected:
  void packPanel(const char *, int64_t, char *, int) override {}

  void multiplyBlock(const char *lhs, const char *rhs, const char *, char *result, int64_t, int64_t rows, int64_t panel,
                     int, char *threadScratch) override {
    MatrixView left = viewOf(lhs, shape.transposeLhs, shape.m, shape.k);
    if (copiesLhs) {
      char *lines = threadScratch + sumsBytes;
      turn(lhs, shape.m, shape.k, byteSize(shape.operand), lines);
      left = {lines, shape.k, 1};
    }
    int64_t column = panel * blocking.panelColumns, columns = std::min(blocking.panelColumns, shape.n - column);
    MatrixView right = viewOf(nullptr, shape.transposeRhs, shape.k, shape.n);
    right.data = rhs + column * right.columnStride * byteSize(shape.operand);
    kernel.multiplyUnpacked(left, rows, shape.k, right, columns, threadScratch,
                            {result + column * byteSize(shape.result), shape.n, 1});
  }

private:
  const GemmKernel kernel;
  int64_t sumsBytes;
  bool copiesLhs; ///< Dot products read contiguous rows.
};

/// For a few columns: the transposed product, which has a few rows. Reads the left side once, in place.
class FewColumnsMatmul final : public BlockedMatmul {
public:
  FewColumnsMatmul(const MatmulShape &shape, int threads, const GemmKernel &kernel)
      : BlockedMatmul(shape, threads), kernel(kernel) {
    Blocking sizes;
    sizes.rowBlock = getBlockLines(shape.m, 256, threads);
    sizes.panelColumns = shape.n;
    sumsBytes = shape.n * sizes.rowBlock * kernel.unitBytes;
    copiesRhs = !shape.transposeRhs && shape.n > 1;
    sizes.threadScratchBytes = sumsBytes + (copiesRhs ? shape.k * shape.n * byteSize(shape.operand) : 0);
    setBlocking(sizes);
  }
  std::string getMethod() const override { return "own, unpacked"; }

protected:
  void packPanel(const char *, int64_t, char *, int) override {}

  void multiplyBlock(const char *lhs, const char *rhs, const char *, char *result, int64_t row, int64_t rows, int64_t,
                     int, char *threadScratch) override {
    int64_t bytes = byteSize(shape.operand);
    MatrixView left = transpose(viewOf(rhs, shape.transposeRhs, shape.k, shape.n));
    if (copiesRhs) {
      // Dot products read the columns of the right side contiguously.
      char *columns = threadScratch + sumsBytes;
      turn(rhs, shape.n, shape.k, bytes, columns);
      left = {columns, shape.k, 1};
    }
    MatrixView right = transpose(viewOf(nullptr, shape.transposeLhs, shape.m, shape.k));
    right.data = lhs + row * right.columnStride * bytes;
    kernel.multiplyUnpacked(left, shape.n, shape.k, right, rows, threadScratch,
                            {result + row * shape.n * byteSize(shape.result), 1, shape.n});
  }

private:
  const GemmKernel kernel;
  int64_t sumsBytes;
  bool copiesRhs;
};

} // namespace

bool isThin(const MatmulShape &shape) {
  return shape.m <= getMostRows(shape) || (shape.n >= 1 && shape.n <= getMostColumns(shape));
}

std::unique_ptr<Matmul> createThinMatmul(const MatmulShape &shape, int threads, const GemmKernel &kernel) {
  if (!isThin(shape))
    return nullptr;
  if (shape.m <= getMostRows(shape))
    return std::make_unique<FewRowsMatmul>(shape, threads, kernel);
  return std::make_unique<FewColumnsMatmul>(shape, threads, kernel);
}

} // namespace spmd
