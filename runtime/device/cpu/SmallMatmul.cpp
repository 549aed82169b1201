//===- SmallMatmul.cpp - batches of small products ------------------------===//

#include "runtime/device/cpu/BlockedMatmul.h"
#include "runtime/device/cpu/Gemm.h"

#include <algorithm>

namespace spmd {
namespace {

/// Results of at most so many elements are computed before their epilogue, which then finds them in the L1 cache.
constexpr int64_t chunkElements = 4096;
/// Multiplications that are worth another thread (some 10 us).
constexpr int64_t grainWork = 1 << 18;

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
  bool isSmall = shape.batch > 1 && shape.m >= 1 && shape.m <= SmallProducts::mostM && shape.n >= 1 &&
                 shape.n <= mostN && shape.k >= 1 && shape.k <= SmallProducts::mostK;
  return kernel.multiplySmall && isSmall ? std::make_unique<SmallMatmul>(shape, kernel) : nullptr;
}

} // namespace spmd
