//===- GpuTargetsTest.cpp - one artifact for several targets --------------===//

#include "compiler/Compiler.h"
#include "runtime/exec/TargetChoice.h"
#include "tests/programs/support/Case.h"
#include "tests/runtime/exec/cuda/GpuJobHelper.h"
#include "tests/support/Messages.h"

#include <gmock/gmock.h>

using namespace mlir;
using namespace spmd;
using namespace spmd::test;
using spmdc::Poison;
using spmdc::Scalar;
using spmdc::Tensor;
using testing::ElementsAre;
using testing::HasSubstr;

namespace {

class GpuTargets : public testing::Test {
protected:
  GpuTargets() {
    spmdc::loadDialects(context);
    std::vector<Artifact> artifacts;
    for (const char *target : {"cpu", "cuda:sm_80", "cuda:sm_90a", "cuda:sm_90"}) {
      spmdc::CompileOptions options;
      options.target = target;
      options.costModel = spmdc::CostModel::ofGpu();
      spmdc::Compiler compiler("t.spmd", "fn main(x: f32[4]) { return x * 2.0 + stack([1.0, 2.0, 3.0, 4.0]); }\n",
                               options);
      std::optional<Artifact> artifact = compiler.compile();
      if (!artifact) {
        ADD_FAILURE() << compiler.errors();
        return;
      }
      artifacts.push_back(std::move(*artifact));
    }
    bytes = encodeArtifacts(artifacts);
  }

  /// Loads the file on a GPU, runs the program, and returns the target that was chosen.
  std::string runOn(int capability) {
    GpuJob job(1, {.capability = capability});
    auto artifact =
        std::make_shared<const Artifact>(decodeArtifact(bytes, "t.spmdx", targetChooserFor(job.getDevices())));
    auto program = job.load(artifact);
    Tensor argument({4}, spmdc::getElementType(&context, DType::F32));
    for (int i = 0; i < 4; ++i)
      argument.elements[i] = Scalar::ofFloat(10.0 * i);
    auto inputs = program->upload(context, {argument}, Poison::Nan), outputs = program->allocateResults();
    program->getExecutor().run(inputs, outputs);
    std::string error;
    FailureOr<SmallVector<Tensor>> results = program->download(context, outputs, error);
    EXPECT_EQ(error, "");
    std::vector<double> values;
    if (succeeded(results))
      for (Scalar element : (*results)[0].elements)
        values.push_back(element.f);
    EXPECT_THAT(values, ElementsAre(1, 22, 43, 64));
    return artifact->plan.target.str();
  }

  MLIRContext context{MLIRContext::Threading::DISABLED};
  std::string bytes;
};

TEST_F(GpuTargets, TheNewestThatTheCardRuns) {
  EXPECT_EQ(runOn(80), "cuda:sm_80");
  EXPECT_EQ(runOn(89), "cuda:sm_80");
  EXPECT_EQ(runOn(90), "cuda:sm_90a");
  EXPECT_EQ(runOn(100), "cuda:sm_90");
}

TEST_F(GpuTargets, AnOldCardRunsNone) {
  GpuJob job(1, {.capability = 75});
  EXPECT_THAT(
      messageOf([&] { decodeArtifact(bytes, "t.spmdx", targetChooserFor(job.getDevices())); }),
      testing::MatchesRegex("'t.spmdx' is compiled for cpu:.*, cuda:sm_80, cuda:sm_90a and cuda:sm_90, and none of "
                            "them runs on GPU 0 .* with sm_75; compile it with --target=cuda:sm_75, too"));
}

// A file with one target is loaded as it is: the executor says what does not fit.
TEST_F(GpuTargets, OneTargetIsNoChoice) {
  spmdc::CompileOptions options;
  options.target = "cuda:sm_90";
  std::optional<Artifact> artifact = spmdc::Compiler("t.spmd", "fn main(x: f32[4]) { return x; }", options).compile();
  ASSERT_TRUE(artifact);
  GpuJob job(1, {.capability = 80});
  EXPECT_EQ(decodeArtifact(encodeArtifact(*artifact), "t.spmdx", targetChooserFor(job.getDevices())).plan.target.cpu,
            "sm_90");
}

} // namespace
