//===- PlacementTest.cpp - positions, masks, shared memory ----------------===//
//
// Kernels that use the device's coordinates run for every device of a mesh; values share memory.
//
//===----------------------------------------------------------------------===//

#include "tests/passes/cpu/CompiledProgramHelper.h"
#include "tests/passes/support/ProgramCases.h"

#include <gtest/gtest.h>

using namespace spmdc;

TEST(Placement, EveryDeviceTakesItsPiece) { checkShards(compileForCpu); }

TEST(Placement, PaddingIsMasked) { checkMasks(compileForCpu); }

TEST(Placement, OutputsTakeThePlaceOfDyingInputs) { checkDyingInputs(compileForCpu); }

// Each output overwrites each input that it may overwrite, with the range split in all ways.
TEST(Placement, EverythingIsReadBeforeItIsWritten) {
  for (const OverwriteCase &test : getOverwriteCases()) {
    SCOPED_TRACE(test.name);
    EXPECT_EQ(checkKernels(test.text, {.tolerances = {{.ulps = 4}}}, compileForCpu), test.inSequence);
  }
}
