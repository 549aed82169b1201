//===- GpuTf32Test.cpp - the compute type of matrix products --------------===//
//
// The numbers are those of cublasComputeType_t in cublasLt.h.
//
//===----------------------------------------------------------------------===//

#include "tests/programs/support/Case.h"
#include "tests/runtime/exec/cuda/FakeCublasLtHelper.h"
#include "tests/runtime/exec/cuda/GpuJobHelper.h"

#include <gmock/gmock.h>

using namespace mlir;
using namespace spmd;
using namespace spmd::test;
using spmdc::CompiledProgram;
using spmdc::Poison;
using spmdc::Tensor;
using testing::ElementsAre;

namespace {

constexpr int kF32 = 68, kF64 = 70, kFastTf32 = 77;

class GpuTf32 : public testing::Test {
protected:
  GpuTf32() { spmdc::loadDialects(context); }

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

TEST_F(GpuTf32, F32IsMultipliedInF32ByDefault) { EXPECT_THAT(computeTypesOf("f32", false), ElementsAre(kF32)); }

TEST_F(GpuTf32, F32IsMultipliedInTf32WhereItIsAllowed) {
  EXPECT_THAT(computeTypesOf("f32", true), ElementsAre(kFastTf32));
}

TEST_F(GpuTf32, OtherTypesKeepTheirComputeType) {
  for (const char *type : {"bf16", "f16"})
    EXPECT_THAT(computeTypesOf(type, true), ElementsAre(kF32)) << type;
  EXPECT_THAT(computeTypesOf("f64", true), ElementsAre(kF64));
}

// The plan says it for each product, so that two artifacts that differ in it alone do not run together.
TEST_F(GpuTf32, IsPartOfThePlan) {
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
