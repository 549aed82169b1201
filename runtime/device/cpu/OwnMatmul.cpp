//===- OwnMatmul.cpp - products by our own kernels ------------------------===//

#include "runtime/device/cpu/BlockedMatmul.h"
#include "runtime/device/cpu/Gemm.h"

#include <algorithm>

namespace spmd {
namespace {

class OwnMatmul final : public BlockedMatmul {
public:
  OwnMatmul(const MatmulShape &shape, int threads, const GemmKernel &kernel)
      : BlockedMatmul(shape, threads), kernel(kernel) {
    Blocking sizes;
    sizes.rowBlock = 120;
    sizes.panelColumns = kernel.panelColumns;
    sizes.packedPanelBytes = shape.k * kernel.panelColumns * kernel.packedElementBytes;
    setBlocking(sizes);
  }
  std::string getMethod() const override { return "own"; }

protected:
  void packPanel(const char *rhs, int64_t panel, char *packed, int) override {
    MatrixView view{rhs, shape.transposeRhs ? 1 : shape.n, shape.transposeRhs ? shape.k : 1};
    kernel.packPanel(view, shape.k, shape.n, panel, packed);
  }

  void multiplyBlock(const char *lhs, const char *, const char *packed, char *result, int64_t row, int64_t rows,
                     int64_t panel, int, char *) override {
    MatrixView view{nullptr, shape.transposeLhs ? 1 : shape.k, shape.transposeLhs ? shape.m : 1};
    view.data = lhs + row * view.rowStride * byteSize(shape.operand);
    kernel.multiplyPanel(view, rows, shape.k, packed, panel, shape.n, result + row * shape.n * byteSize(shape.result));
  }

private:
  const GemmKernel kernel;
};

} // namespace

std::unique_ptr<Matmul> createOwnMatmul(const MatmulShape &shape, int threads) {
  GemmKernel kernel = findGemmKernel(shape.operand, shape.result);
  if (!kernel.multiplyPanel)
    return nullptr;
  return std::make_unique<OwnMatmul>(shape, threads, kernel);
}

} // namespace spmd
