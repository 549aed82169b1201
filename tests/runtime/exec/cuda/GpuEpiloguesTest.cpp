//===- GpuEpiloguesTest.cpp - epilogues of products by cuBLASLt ---------------===//
//
// Expected values are computed here in f64 and rounded once. A kernel of our own rounds each operation.
//
//===----------------------------------------------------------------------===//

#include "tests/runtime/device/cuda/doubles/FakeCublasLt.h"
#include "tests/runtime/exec/cuda/GpuRunFixture.h"

#include <gmock/gmock.h>

#include <cmath>
#include <functional>

using namespace mlir;
using namespace spmd;
using namespace spmd::test;
using spmdc::CompiledProgram;
using spmdc::Poison;
using spmdc::Tensor;
using testing::ElementsAre;

namespace {

// cublasLtEpilogue_t.
constexpr uint32_t kDefault = 1, kBias = 4, kGelu = 32, kGeluGradient = 192;

double gelu(double x) { return 0.5 * x * (1 + std::tanh(0.7978845608028654 * (x + 0.044715 * x * x * x))); }
/// By central differences.
double slopeOfGelu(double x) { return (gelu(x + 1e-5) - gelu(x - 1e-5)) / 2e-5; }

/// The element of a product x @ w at [batch, i, j], with a result's element of the other arguments.
struct Point {
  double product = 0;
  std::vector<Tensor> *arguments = nullptr;
  int64_t batch = 0, i = 0, j = 0, m = 0, n = 0;

  double element(size_t argument) const { return at(argument, (batch * m + i) * n + j); }
  double ofRow(size_t argument) const { return at(argument, j); }

private:
  double at(size_t argument, int64_t index) const {
    return (*arguments)[argument].elements[static_cast<size_t>(index)].f;
  }
};

using Reference = std::function<double(const Point &)>;

struct Case {
  const char *text;
  uint32_t epilogue;
  Reference reference;
};

class GpuEpilogues : public GpuRunFixture {
protected:
  /// Runs `main(x[batch, m, k], w[batch, k, n], ...)` with cuBLASLt and compares each element.
  void check(const Case &given, bool hasEpilogues) {
    SCOPED_TRACE(given.text);
    GpuArtifact artifact = compileForGpus("e.spmd", given.text);
    ASSERT_TRUE(static_cast<bool>(artifact));
    cuda::FakeCublasLt blas;
    if (!hasEpilogues)
      blas.refuseEpilogues();
    std::vector<Tensor> arguments = makeArguments(context, artifact->plan, 3, /*areExact=*/true);
    // Products between -6 and 6, where a gelu is neither 0 nor its argument.
    for (spmdc::Scalar &element : arguments[0].elements)
      element.f *= 0.125;
    GpuJob job(1, {.blas = blas.getLibrary()});
    auto program = job.load(artifact);
    int64_t kernels = job.getDriver().countKernels();
    FailureOr<SmallVector<Tensor>> results = program->run(context, arguments, Poison::Nan, error);
    ASSERT_TRUE(succeeded(results)) << error;
    // Factors and an array are no epilogue in the library's terms.
    bool isKernel = !hasEpilogues && given.epilogue != kDefault;
    EXPECT_EQ(job.getDriver().countKernels() - kernels, isKernel ? 1 : 0);
    EXPECT_THAT(blas.getEpilogues(), ElementsAre(kDefault, given.epilogue));
    compare(arguments, (*results)[0], given.reference, isKernel ? 0x1p-5 : 0x1p-8);
  }

  /// `error` is relative to a number of at least 1.
  void compare(std::vector<Tensor> &arguments, const Tensor &result, const Reference &reference, double error) {
    const Tensor &x = arguments[0], &w = arguments[1];
    int64_t k = x.shape.back(), n = w.shape.back(), m = x.shape[x.shape.size() - 2];
    int64_t batches = x.shape.size() == 3 ? x.shape[0] : 1;
    for (Point p{0, &arguments, 0, 0, 0, m, n}; p.batch < batches; ++p.batch)
      for (p.i = 0; p.i < m; ++p.i)
        for (p.j = 0; p.j < n; ++p.j) {
          p.product = 0;
          for (int64_t l = 0; l < k; ++l)
            p.product += x.elements[static_cast<size_t>((p.batch * m + p.i) * k + l)].f *
                         w.elements[static_cast<size_t>((p.batch * k + l) * n + p.j)].f;
          double expected = reference(p),
                 actual = result.elements[static_cast<size_t>((p.batch * m + p.i) * n + p.j)].f;
          EXPECT_NEAR(actual, expected, error * std::max(1.0, std::abs(expected)))
              << p.batch << " " << p.i << " " << p.j << ", product " << p.product;
        }
  }
};

const Case kCases[] = {
    {"fn main(x: bf16[3, 8], w: bf16[8, 16], b: bf16[16]) { return x @ w + b; }", kBias,
     [](const Point &p) { return p.product + p.ofRow(2); }},
    {"fn main(x: f16[2, 3, 8], w: f16[2, 8, 5], b: f16[5]) { return x @ w + b; }", kBias,
     [](const Point &p) { return p.product + p.ofRow(2); }},
    {"fn main(x: bf16[3, 8], w: bf16[8, 5], y: bf16[3, 5]) { return y - 3.0 * (x @ w); }", kDefault,
     [](const Point &p) { return p.element(2) - 3 * p.product; }},
    {"fn main(x: f32[2, 3, 8], w: f32[2, 8, 5], y: f32[2, 3, 5]) { return x @ w - y; }", kDefault,
     [](const Point &p) { return p.product - p.element(2); }},
    {"fn main(x: bf16[3, 8], w: bf16[8, 5], y: bf16[3, 5], b: bf16[5]) { return 0.5 * y + (x @ w + b); }", kBias,
     [](const Point &p) { return 0.5 * p.element(2) + p.product + p.ofRow(3); }},
    {"fn main(x: bf16[3, 8], w: bf16[8, 16], b: bf16[16]) { return gelu(x @ w + b); }", kGelu | kBias,
     [](const Point &p) { return gelu(p.product + p.ofRow(2)); }},
    {"fn main(x: f16[3, 8], w: f16[8, 7], y: f16[3, 7]) { return gelu(y - 0.5 * (x @ w)); }", kGelu,
     [](const Point &p) { return gelu(p.element(2) - 0.5 * p.product); }},
};

TEST_F(GpuEpilogues, AreComputedWithTheProduct) {
  for (const Case &each : kCases)
    check(each, /*hasEpilogues=*/true);
}

TEST_F(GpuEpilogues, AreKernelsWhereTheLibraryHasNone) {
  for (const Case &each : kCases)
    check(each, /*hasEpilogues=*/false);
}

// dz = (y w^T) gelu'(z), also of a batch.
TEST_F(GpuEpilogues, GradientsOfGelus) {
  for (int64_t batches : {1, 2}) {
    std::string head = batches == 1 ? "[" : "[2, ";
    std::string text = "fn loss(z, w, y) { return sum(cast((gelu(z) @ w) * y, f32)); }\n"
                       "fn main(y: bf16" +
                       head + "3, 8], w: bf16" + head + "16, 8], z: bf16" + head +
                       "3, 16]) { return grad(loss)(z, w, y); }\n";
    GpuArtifact artifact = compileForGpus("g.spmd", text);
    ASSERT_TRUE(static_cast<bool>(artifact));
    cuda::FakeCublasLt blas;
    GpuJob job(1, {.blas = blas.getLibrary()});
    auto program = job.load(artifact);
    std::vector<Tensor> arguments = makeArguments(context, artifact->plan, 5, /*areExact=*/true);
    int64_t kernels = job.getDriver().countKernels();
    FailureOr<SmallVector<Tensor>> results = program->run(context, arguments, Poison::Nan, error);
    ASSERT_TRUE(succeeded(results)) << error;
    EXPECT_EQ(job.getDriver().countKernels(), kernels);
    EXPECT_THAT(blas.getEpilogues(), ElementsAre(kDefault, kGeluGradient));
    // The reference multiplies x [3, 8] and w [8, 16].
    std::vector<Tensor> transposed = arguments;
    Tensor &w = transposed[1];
    std::swap(w.shape[w.shape.size() - 1], w.shape[w.shape.size() - 2]);
    for (int64_t b = 0; b < batches; ++b)
      for (int64_t i = 0; i < 16; ++i)
        for (int64_t j = 0; j < 8; ++j)
          w.elements[static_cast<size_t>((b * 8 + j) * 16 + i)] =
              arguments[1].elements[static_cast<size_t>((b * 16 + i) * 8 + j)];
    compare(transposed, (*results)[0], [](const Point &p) { return p.product * slopeOfGelu(p.element(2)); }, 0x1p-8);
  }
}

// NaN of each operand is NaN in the result.
TEST_F(GpuEpilogues, KeepNans) {
  for (size_t argument : {0, 1, 2, 3}) {
    GpuArtifact artifact = compileForGpus(
        "e.spmd", "fn main(x: bf16[1, 1], w: bf16[1, 1], y: bf16[1, 1], b: bf16[1]) { return gelu(x @ w + b + y); }");
    ASSERT_TRUE(static_cast<bool>(artifact));
    cuda::FakeCublasLt blas;
    GpuJob job(1, {.blas = blas.getLibrary()});
    std::vector<Tensor> arguments = makeArguments(context, artifact->plan, 7, /*areExact=*/true);
    arguments[argument].elements[0] = spmdc::Scalar::ofFloat(std::nan(""));
    FailureOr<SmallVector<Tensor>> results = job.load(artifact)->run(context, arguments, Poison::Nan, error);
    ASSERT_TRUE(succeeded(results)) << error;
    EXPECT_TRUE(std::isnan((*results)[0].elements[0].f)) << argument;
  }
}

} // namespace
