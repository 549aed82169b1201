//===- Matmul.cpp - selects a matrix multiplication -----------------------===//

#include "runtime/device/cpu/Matmul.h"
#include "runtime/device/cpu/BlockedMatmul.h"
#include "runtime/device/cpu/Convert.h"
#include "runtime/support/Error.h"

namespace spmd {
namespace {

/// bf16 and f16 without direct support: widened to f32 (exact), multiplied, rounded once.
class WidenedMatmul final : public Matmul {
public:
  WidenedMatmul(const MatmulShape &shape, std::unique_ptr<Matmul> inner) : shape(shape), inner(std::move(inner)) {}

  int64_t getScratchBytes() const override {
    return 4 * (pad(shape.m * shape.k) + pad(shape.k * shape.n) + pad(shape.m * shape.n)) + inner->getScratchBytes();
  }
  std::string getMethod() const override { return "widened " + inner->getMethod(); }

  void run(ParallelFor &parallelFor, const void *lhs, const void *rhs, void *result, void *scratch,
           RowsDone rowsDone) override {
    auto *wideLhs = static_cast<float *>(scratch);
    float *wideRhs = wideLhs + pad(shape.m * shape.k);
    float *wideResult = wideRhs + pad(shape.k * shape.n);
    void *innerScratch = wideResult + pad(shape.m * shape.n);
    for (int64_t b = 0; b < shape.batch; ++b) {
      auto widen = [&](const void *source, float *target, int64_t count) {
        auto *bytes = static_cast<const char *>(source) + 2 * b * count;
        parallelFor.run(count, 1 << 14, [&](int64_t begin, int64_t end, int) {
          widenToF32(shape.operand, bytes + 2 * begin, target + begin, end - begin);
        });
      };
      widen(lhs, wideLhs, shape.m * shape.k);
      widen(rhs, wideRhs, shape.k * shape.n);
      auto *target = static_cast<char *>(result) + b * shape.m * shape.n * byteSize(shape.result);
      bool isNarrow = shape.result != DType::F32;
      auto finish = [&](int64_t begin, int64_t end) {
        if (isNarrow)
          narrowFromF32(shape.result, wideResult + begin * shape.n, target + 2 * begin * shape.n,
                        (end - begin) * shape.n);
        rowsDone(b * shape.m + begin, b * shape.m + end);
      };
      RowsDone done{[](const void *context, int64_t begin, int64_t end) {
                      (*static_cast<const decltype(finish) *>(context))(begin, end);
                    },
                    &finish};
      inner->run(parallelFor, wideLhs, wideRhs, isNarrow ? static_cast<void *>(wideResult) : target, innerScratch,
                 done);
    }
  }

private:
  static int64_t pad(int64_t count) { return (count + 15) / 16 * 16; }
  const MatmulShape shape;
  const std::unique_ptr<Matmul> inner;
};

} // namespace

std::unique_ptr<Matmul> Matmul::create(const MatmulShape &shape, std::shared_ptr<const Dnnl> library, int threads) {
  if (library)
    if (auto matmul = createDnnlMatmul(shape, library, threads))
      return matmul;
  if (auto matmul = createOwnMatmul(shape, threads))
    return matmul;
  bool isHalf = shape.operand == DType::BF16 || shape.operand == DType::F16;
  if (isHalf && (shape.result == shape.operand || shape.result == DType::F32)) {
    MatmulShape wide = shape;
    wide.batch = 1;
    wide.operand = wide.result = DType::F32;
    return std::make_unique<WidenedMatmul>(shape, create(wide, library, threads));
  }
  throw Error("matmul: no product of " + std::string(dtypeName(shape.operand)) + " into " +
              std::string(dtypeName(shape.result)) + "; cast the operands or the result");
}

} // namespace spmd
