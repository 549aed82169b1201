//===- GpuProductsTest.cpp - matrix products by cuBLASLt ----------------------===//
//
// The numbers are those of cublasComputeType_t in cublasLt.h.
//
//===----------------------------------------------------------------------===//

#include "tests/programs/support/Case.h"
#include "tests/runtime/device/cuda/doubles/FakeCublasLt.h"
#include "tests/runtime/exec/cuda/GpuJobHelper.h"

#include <gmock/gmock.h>

using namespace mlir;
using namespace spmd;
using namespace spmd::test;
using spmdc::CompiledProgram;
using spmdc::Poison;
using spmdc::Tensor;
using namespace std::string_literals;
using testing::ElementsAre;

namespace {

constexpr int kF32 = 68, kF64 = 70, kFastTf32 = 77;

class GpuProducts : public testing::Test {
protected:
  GpuProducts() { spmdc::loadDialects(context); }

  /// Returns the compute types for which a product of an element type asks, and checks its result.
  std::vector<int> computeTypesOf(const std::string &type, bool allowTf32) {
    std::string text = "fn main(x: " + type + "[2, 3], y: " + type + "[3, 2]) { return x @ y; }\n";
    GpuArtifact artifact = compileForGpus("t.spmd", text, {}, allowTf32);
    if (!artifact)
      return {};
    cuda::FakeCublasLt blas;
    {
      GpuJob job(1, {.blas = blas.getLibrary()});
      auto program = job.load(artifact);
      std::vector<Tensor> arguments = makeArguments(context, artifact->plan, 1, /*areExact=*/true);
      auto inputs = program->upload(context, arguments, Poison::Nan), outputs = program->allocateResults();
      program->getExecutor().run(inputs, outputs);
      std::string error;
      FailureOr<SmallVector<Tensor>> results = program->download(context, outputs, error);
      EXPECT_EQ(error, "");
      for (int64_t i = 0; succeeded(results) && i < 4; ++i) {
        double sum = 0;
        for (int64_t k = 0; k < 3; ++k)
          sum += arguments[0].elements[i / 2 * 3 + k].f * arguments[1].elements[k * 2 + i % 2].f;
        EXPECT_EQ((*results)[0].elements[i].f, sum) << type << " " << i;
      }
    }
    return blas.getComputeTypes();
  }

  MLIRContext context{MLIRContext::Threading::DISABLED};
};

TEST_F(GpuProducts, F32IsMultipliedInF32ByDefault) { EXPECT_THAT(computeTypesOf("f32", false), ElementsAre(kF32)); }

TEST_F(GpuProducts, F32IsMultipliedInTf32WhereItIsAllowed) {
  EXPECT_THAT(computeTypesOf("f32", true), ElementsAre(kFastTf32));
}

TEST_F(GpuProducts, OtherTypesKeepTheirComputeType) {
  for (const char *type : {"bf16", "f16"})
    EXPECT_THAT(computeTypesOf(type, true), ElementsAre(kF32)) << type;
  EXPECT_THAT(computeTypesOf("f64", true), ElementsAre(kF64));
}

// TF32 keeps 10 bits of a factor's mantissa: 1 + 2^-12 is rounded to 1, 1 + 2^-10 is not.
TEST_F(GpuProducts, FactorsAreRounded) {
  const char *text = "fn main(x: f32[1, 2], y: f32[2, 1]) { return x @ y; }\n";
  for (bool allowTf32 : {false, true}) {
    GpuArtifact artifact = compileForGpus("t.spmd", text, {}, allowTf32);
    ASSERT_TRUE(static_cast<bool>(artifact));
    cuda::FakeCublasLt blas;
    GpuJob job(1, {.blas = blas.getLibrary()});
    auto program = job.load(artifact);
    std::vector<Tensor> arguments = makeArguments(context, artifact->plan, 1, true);
    arguments[0].elements = {spmdc::Scalar::ofFloat(1 + 0x1p-12), spmdc::Scalar::ofFloat(1 + 0x1p-10)};
    arguments[1].elements = {spmdc::Scalar::ofFloat(1), spmdc::Scalar::ofFloat(1)};
    std::string error;
    FailureOr<SmallVector<Tensor>> results = program->run(context, arguments, Poison::Nan, error);
    ASSERT_TRUE(succeeded(results)) << error;
    EXPECT_EQ((*results)[0].elements[0].f, 2 + 0x1p-10 + (allowTf32 ? 0 : 0x1p-12));
  }
}

// Both sides transposed or not, batches, uneven sizes: cuBLASLt, whose matrices are column-major, and the runtime's own
// kernels compute the same sums of small integers.
TEST_F(GpuProducts, CublasLtAndOwnKernelsAgree) {
  for (const char *type : {"f32", "f64", "bf16", "f16"})
    for (std::string product : {"bik,bkj->bij", "bki,bkj->bij", "bik,bjk->bij", "bki,bjk->bij"}) {
      auto shape = [&](char first) { return type + (first == 'k' ? "[3, 7, 5]"s : "[3, 5, 7]"s); };
      std::string text = "fn main(a: " + shape(product[1]) + ", b: " + shape(product[5] == 'k' ? 'k' : 'i') +
                         ") { return einsum(\"" + product + "\", a, b); }\n";
      GpuArtifact artifact = compileForGpus("t.spmd", text);
      ASSERT_TRUE(static_cast<bool>(artifact)) << text;
      std::vector<Tensor> arguments = makeArguments(context, artifact->plan, 7, true);
      SmallVector<Tensor> own;
      cuda::FakeCublasLt blas;
      for (const auto &library : {std::shared_ptr<const cuda::CublasLt>(), blas.getLibrary()}) {
        GpuJob job(1, {.blas = library});
        std::string error;
        FailureOr<SmallVector<Tensor>> results = job.load(artifact)->run(context, arguments, Poison::Nan, error);
        ASSERT_TRUE(succeeded(results)) << error;
        if (own.empty())
          own = *results;
        EXPECT_EQ(compareTensors(own, *results, 0), "") << text;
      }
      EXPECT_EQ(blas.getComputeTypes().size(), 1u) << text;
    }
}

// The plan says it for each product, so that two artifacts that differ in it alone do not run together.
TEST_F(GpuProducts, IsPartOfThePlan) {
  const char *text = "fn main(x: f32[8, 8]) { return x @ x; }\n";
  GpuArtifact exact = compileForGpus("t.spmd", text), fast = compileForGpus("t.spmd", text, {}, /*allowTf32=*/true);
  ASSERT_TRUE(exact && fast);
  EXPECT_EQ(exact->code, fast->code);
  auto allows = [](const GpuArtifact &artifact) {
    for (const Step &step : artifact->plan.steps)
      if (auto *product = std::get_if<MatmulStep>(&step.op))
        return product->allowTf32;
    ADD_FAILURE() << "no product";
    return false;
  };
  EXPECT_FALSE(allows(exact));
  EXPECT_TRUE(allows(fast));
}

} // namespace
