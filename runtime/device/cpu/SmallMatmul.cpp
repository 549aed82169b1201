//===- SmallMatmul.cpp - small products, alone or in a batch --------------===//
//
// The number of products does not decide about the kernel: devices with other numbers of matrices of a sharded batch
// compute the same bits. One product alone is as fast as with packing, or faster (64 x 16 x 64 of f32: 1.2 us and 3.2).
//
//===----------------------------------------------------------------------===//

#include "runtime/device/cpu/BlockedMatmul.h"
#include "runtime/device/cpu/Gemm.h"

#include <algorithm>

namespace spmd {
namespace {

/// Results of at most so many elements are computed before their epilogue, which then finds them in the L1 cache.
constexpr int64_t chunkElements = 4096;
/// Multiplications that are worth another thread (some 10 us).
constexpr int64_t grainWork = 1 << 18;

/// Whether products with these columns read the left side faster in place, one dot product or scaled column for each
/// (ThinMatmul.cpp), than with a tile that is mostly empty: 100 products of 64 x 1 x 64 of f32 take 30 to 50 us instead
/// of 130 to 290, of 16 x 1 x 16 5 to 11 instead of 10 to 23; of 8 x 1 x 8 both take 4 to 9.
bool isFasterAsDots(const MatmulShape &shape) {
  constexpr int64_t leastLhs = 256, mostColumns = 4;
  return (shape.n == 1 || (shape.transposeRhs && shape.n <= mostColumns)) && shape.m * shape.k >= leastLhs;
}

class SmallMatmul final : public Matmul {
public:
  SmallMatmul(const MatmulShape &shape, const GemmKernel &kernel) : shape(shape), kernel(kernel) {}
  std::string getMethod() const override { return "own, small"; }
  int64_t getScratchBytes() const override { return 0; }

  void run(ParallelFor &parallelFor, const void *lhs, const void *rhs, void *result, void *,
           RowsDone rowsDone) override {
    int64_t bytes = byteSize(shape.operand), lhsSize = shape.m * shape.k, rhsSize = shape.k * shape.n,
            resultSize = shape.m * shape.n;
    int64_t chunk = std::max<int64_t>(chunkElements / resultSize, 1);
    int64_t grain = std::max<int64_t>(grainWork / (resultSize * shape.k), 1);
    parallelFor.run(shape.batch, grain, [&](int64_t begin, int64_t end, int) {
      for (int64_t first = begin; first < end && !parallelFor.shouldStop(); first += chunk) {
        SmallProducts products;
        products.count = std::min(chunk, end - first);
        products.m = shape.m, products.n = shape.n, products.k = shape.k;
        products.lhs = {static_cast<const char *>(lhs) + first * lhsSize * bytes, shape.transposeLhs ? 1 : shape.k,
                        shape.transposeLhs ? shape.m : 1};
        products.rhs = {static_cast<const char *>(rhs) + first * rhsSize * bytes, shape.transposeRhs ? 1 : shape.n,
                        shape.transposeRhs ? shape.k : 1};
        products.result = static_cast<char *>(result) + first * resultSize * bytes;
        kernel.multiplySmall(products);
        rowsDone(first * shape.m, (first + products.count) * shape.m);
      }
    });
  }

private:
  const MatmulShape shape;
  const GemmKernel kernel;
};

} // namespace

std::unique_ptr<Matmul> createSmallMatmul(const MatmulShape &shape, const GemmKernel &kernel) {
  int64_t mostN = shape.transposeRhs ? kernel.tileColumns : SmallProducts::mostN;
  bool isSmall = shape.m >= 1 && shape.m <= SmallProducts::mostM && shape.n >= 1 && shape.n <= mostN && shape.k >= 1 &&
                 shape.k <= SmallProducts::mostK;
  return kernel.multiplySmall && isSmall && !isFasterAsDots(shape) ? std::make_unique<SmallMatmul>(shape, kernel)
                                                                   : nullptr;
}

} // namespace spmd
