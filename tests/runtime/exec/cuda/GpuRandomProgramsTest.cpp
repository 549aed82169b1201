//===- GpuRandomProgramsTest.cpp - random programs on emulated GPUs -------===//
//
// Programs of the generator (tests/programs/generator), through the host and through NCCL, against the evaluator of the
// language, like the programs for CPUs (tests/programs/RandomProgramsTest.cpp).
//
//===----------------------------------------------------------------------===//

#include "ir/evaluate/GlobalEvaluator.h"
#include "runtime/support/Error.h"
#include "tests/programs/support/Differential.h"
#include "tests/runtime/exec/cuda/ProgramCheckHelper.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include <gtest/gtest.h>

using namespace mlir;
using namespace spmd;
using namespace spmd::test;
using spmdc::Tensor;

namespace {

class GpuRandomPrograms : public testing::TestWithParam<int> {
protected:
  void SetUp() override { SKIP_WITHOUT_LIBDEVICE(); }

  static FailureOr<SmallVector<Tensor>> evaluate(spmdc::Subject &subject) {
    OwningOpRef<ModuleOp> plain = spmdc::differentiated(*subject.module);
    if (!plain)
      return failure();
    return spmdc::evaluateGlobal(*plain->getOps<func::FuncOp>().begin(), subject.arguments);
  }

  static void check(uint64_t seed, spmdc::Mode mode) {
    MLIRContext context(MLIRContext::Threading::DISABLED);
    spmdc::loadDialects(context);
    spmdc::GeneratorOptions generator;
    generator.seed = seed;
    generator.maxDevices = 6;
    generator.limits = {20, 120};
    spmdc::Case test = spmdc::generateCase(context, generator, mode);
    SCOPED_TRACE("seed " + std::to_string(seed) + "\n" + test.program.str());
    std::string error;
    FailureOr<spmdc::Subject> subject = spmdc::makeSubject(context, test, error);
    ASSERT_TRUE(succeeded(subject)) << error;
    FailureOr<SmallVector<Tensor>> expected = evaluate(*subject);
    ASSERT_TRUE(succeeded(expected));
    GpuArtifact program = compileForGpus(subject->fileName, subject->text);
    ASSERT_TRUE(static_cast<bool>(program));
    int64_t devices = program->plan.mesh.deviceCount();
    SmallVector<Tensor> first;
    for (Transport transport : {Transport::Host, Transport::Nccl}) {
      if (transport == Transport::Nccl && devices == 1)
        break;
      try {
        GpuJob job(devices, {.transport = transport, .seed = seed});
        std::unique_ptr<spmdc::CompiledProgram> loaded = job.load(program);
        for (spmdc::Poison poison : {spmdc::Poison::Nan, spmdc::Poison::Huge}) {
          FailureOr<SmallVector<Tensor>> actual = loaded->run(context, subject->arguments, poison, error);
          ASSERT_TRUE(succeeded(actual)) << error;
          EXPECT_EQ(spmdc::compareResults(*expected, *actual, subject->results), "");
          if (first.empty())
            first = *actual;
          EXPECT_EQ(compareTensors(first, *actual, 0), "") << "another run gave other bits";
        }
      } catch (const Error &thrown) {
        FAIL() << thrown.what();
      }
    }
  }
};

constexpr uint64_t kPerBlock = 5;

TEST_P(GpuRandomPrograms, Text) {
  for (uint64_t i = 0; i < kPerBlock && !HasFailure(); ++i)
    check(500'000 + static_cast<uint64_t>(GetParam()) * kPerBlock + i, spmdc::Mode::Text);
}

// Every value is sharded at random.
TEST_P(GpuRandomPrograms, EverythingSharded) {
  check(600'000 + static_cast<uint64_t>(GetParam()), spmdc::Mode::Everything);
}

INSTANTIATE_TEST_SUITE_P(Seeds, GpuRandomPrograms, testing::Range(0, 8));

} // namespace
