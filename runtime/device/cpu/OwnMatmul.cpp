//===- OwnMatmul.cpp - products by our own kernels ------------------------===//

#include "runtime/device/cpu/BlockedMatmul.h"
#include "runtime/device/cpu/Gemm.h"

#include <algorithm>

namespace spmd {
namespace {

/// Panels of the kernel's width, packed and handed out in groups, so that the rows of the right side are read in pieces
/// of some length.
class OwnMatmul final : public BlockedMatmul {
public:
  OwnMatmul(const MatmulShape &shape, int threads, const GemmKernel &kernel)
      : BlockedMatmul(shape, threads), kernel(kernel),
        panelBytes(shape.k * kernel.panelColumns * kernel.packedElementBytes) {
    Blocking sizes;
    sizes.rowBlock = 120;
    sizes.panelColumns = groupPanels * kernel.panelColumns;
    sizes.packedPanelBytes = groupPanels * panelBytes;
    setBlocking(sizes);
  }
  std::string getMethod() const override { return "own"; }

protected:
  void packPanel(const char *rhs, int64_t group, char *packed, int) override {
    MatrixView view{rhs, shape.transposeRhs ? 1 : shape.n, shape.transposeRhs ? shape.k : 1};
    for (int64_t begin = 0; begin < shape.k; begin += packedRows)
      for (int64_t i = 0; i < panelsIn(group); ++i)
        kernel.packPanel(view, begin, std::min(begin + packedRows, shape.k), shape.n, group * groupPanels + i,
                         packed + i * panelBytes);
  }

  void multiplyBlock(const char *lhs, const char *, const char *packed, char *result, int64_t row, int64_t rows,
                     int64_t group, int, char *) override {
    MatrixView view{nullptr, shape.transposeLhs ? 1 : shape.k, shape.transposeLhs ? shape.m : 1};
    view.data = lhs + row * view.rowStride * byteSize(shape.operand);
    for (int64_t i = 0; i < panelsIn(group); ++i)
      kernel.multiplyPanel(view, rows, shape.k, packed + i * panelBytes, group * groupPanels + i, shape.n,
                           result + row * shape.n * byteSize(shape.result));
  }

private:
  static constexpr int64_t groupPanels = 8, packedRows = 16;
  int64_t panelsIn(int64_t group) const {
    int64_t all = (shape.n + kernel.panelColumns - 1) / kernel.panelColumns;
    return std::min(groupPanels, all - group * groupPanels);
  }
  const GemmKernel kernel;
  const int64_t panelBytes;
};

/// A few rows: the right side is read once, where it lies.
class FewRowsMatmul final : public BlockedMatmul {
public:
  FewRowsMatmul(const MatmulShape &shape, int threads, const GemmKernel &kernel)
      : BlockedMatmul(shape, threads), kernel(kernel) {
    Blocking sizes;
    sizes.rowBlock = std::max<int64_t>(shape.m, 1);
    sizes.panelColumns = std::min<int64_t>(std::max<int64_t>(shape.n, 1), 1024);
    sizes.threadScratchBytes = sizes.rowBlock * sizes.panelColumns * kernel.packedElementBytes;
    setBlocking(sizes);
  }
  std::string getMethod() const override { return "own, unpacked"; }

protected:
  void packPanel(const char *, int64_t, char *, int) override {}

  void multiplyBlock(const char *lhs, const char *rhs, const char *, char *result, int64_t, int64_t rows, int64_t panel,
                     int, char *threadScratch) override {
    int64_t column = panel * blocking.panelColumns, columns = std::min(blocking.panelColumns, shape.n - column);
    MatrixView left{lhs, shape.transposeLhs ? 1 : shape.k, shape.transposeLhs ? shape.m : 1};
    MatrixView right{nullptr, shape.transposeRhs ? 1 : shape.n, shape.transposeRhs ? shape.k : 1};
    right.data = rhs + column * right.columnStride * byteSize(shape.operand);
    kernel.multiplyUnpacked(left, rows, shape.k, right, columns, threadScratch,
                            result + column * byteSize(shape.result), shape.n);
  }

private:
  const GemmKernel kernel;
};

} // namespace

std::unique_ptr<Matmul> createOwnMatmul(const MatmulShape &shape, int threads) {
  GemmKernel kernel = findGemmKernel(shape.operand, shape.result);
  if (!kernel.multiplyPanel)
    return nullptr;
  if (shape.m <= 4)
    return std::make_unique<FewRowsMatmul>(shape, threads, kernel);
  return std::make_unique<OwnMatmul>(shape, threads, kernel);
}

} // namespace spmd
