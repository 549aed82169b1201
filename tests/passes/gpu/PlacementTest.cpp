//===- PlacementTest.cpp - positions, masks, shared memory on a GPU -------===//
//
// Kernels that use the device's coordinates run for every device of a mesh; values share memory.
//
//===----------------------------------------------------------------------===//

#include "tests/passes/gpu/GpuProgramHelper.h"
#include "tests/passes/support/ProgramCases.h"

#include "passes/kernel/Overwrites.h"

#include "mlir/Parser/Parser.h"

#include <gtest/gtest.h>

using namespace mlir;
using namespace spmdc;

TEST(GpuPlacement, EveryDeviceTakesItsPiece) { checkShards(compileForGpu); }

TEST(GpuPlacement, PaddingIsMasked) { checkMasks(compileForGpu); }

TEST(GpuPlacement, OutputsTakeThePlaceOfDyingInputs) { checkDyingInputs(compileForGpu); }

// Each output overwrites each input that it may overwrite, with the threads in all orders.
TEST(GpuPlacement, EverythingIsReadBeforeItIsWritten) {
  SKIP_WITHOUT_LIBDEVICE();
  for (const OverwriteCase &test : getOverwriteCases()) {
    SCOPED_TRACE(test.name);
    EXPECT_EQ(checkKernels(test.text, {.tolerances = {{.ulps = 4}}}, compileForGpu), test.inParallel);
  }
}

// Overwrites that the mapping refuses would be wrong: the orders of threads in the tests show it for every pair of
// input and output of one size that is not in `overwrites`.
TEST(GpuPlacement, WhatIsRefusedWouldChangeTheResult) {
  for (const OverwriteCase &test : getOverwriteCases()) {
    if (test.inParallel == test.inSequence && test.inParallel > 0)
      continue;
    SCOPED_TRACE(test.name);
    std::unique_ptr<MLIRContext> context = makeTestContext();
    OwningOpRef<ModuleOp> module = parseSourceString<ModuleOp>(test.text, context.get());
    ASSERT_TRUE(module);
    GpuProgram program(*module);
    ASSERT_TRUE(program.isGood());
    program.findsRaces = false;
    for (plan::KernelOp kernel : program.getModule().getOps<plan::KernelOp>()) {
      auto type = cast<ArrayType>(kernel.getBlock().getArgument(0).getType());
      std::vector<Tensor> inputs{makeInput(type.getShape(), type.getElementType(), 3, InputKind::Ordinary)};
      std::vector<Tensor> expected = program.runKernel(kernel, inputs, 0, {});
      for (unsigned output = 0; output < expected.size(); ++output) {
        if (canOverwrite(kernel, 0, output))
          continue;
        bool isSame = true;
        for (unsigned way = 0; way < GpuProgram::VariantCount; ++way) {
          std::vector<Tensor> actual = program.runKernel(kernel, inputs, way, {}, PlannedProgram::Overwrite{0, output});
          for (size_t i = 0; i < expected.size(); ++i)
            isSame &= toBytes(actual[i]) == toBytes(expected[i]);
        }
        EXPECT_FALSE(isSame) << "output " << output;
      }
    }
  }
}
