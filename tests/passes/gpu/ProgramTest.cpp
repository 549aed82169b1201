//===- ProgramTest.cpp - emulated programs against the reference ----------===//
//
// Every program is compiled to PTX, which ptxas must accept without a spill, and its kernels run thread by thread in
// the emulator forwards, backwards and shuffled, with the same bits each time.
//
//===----------------------------------------------------------------------===//

#include "tests/passes/gpu/GpuProgramHelper.h"
#include "tests/passes/support/ProgramCases.h"

#include <gtest/gtest.h>

using namespace spmdc;

// Without it the tests below run, but neither assembly nor registers are checked.
TEST(GpuProgram, Assembler) {
  if (!GpuProgram::hasPtxas())
    GTEST_SKIP() << "no ptxas: the CUDA toolkit is not installed";
  EXPECT_EQ(GpuProgram::findFault("no PTX").find("ptxas"), 0u);
}

// Adjacent elements in one thread, single ones, and a remainder in the last block. tanh, of at most 1, is within 4
// units in the last place; if x cancels it, these units remain.
TEST(GpuProgram, Elementwise) {
  SKIP_WITHOUT_LIBDEVICE();
  for (std::string shape : {"7", "1000", "65536", "131, 1000", "3, 5, 7"})
    checkProgram(elementwiseProgram(shape), {.tolerances = {{.ulps = 4, .absolute = 4 * 0x1p-24}}}, compileForGpu);
}

// Rows of a warp, of several warps and of more rounds than are unrolled, with stage-local caches in registers and in
// shared memory.
TEST(GpuProgram, Softmax) {
  SKIP_WITHOUT_LIBDEVICE();
  for (std::string rows : {"1", "7", "600"})
    for (std::string size : {"1", "3", "33", "1000", "10000", "20000"})
      if (rows != "600" || size.size() < 5)
        checkProgram(softmaxProgram(rows, size), {.tolerances = {{.ulps = 16}}}, compileForGpu);
}

// One thread for each row.
TEST(GpuProgram, SoftmaxOverFirstDimension) {
  SKIP_WITHOUT_LIBDEVICE();
  checkProgram(softmaxOverFirstProgram("33", "301"), {.tolerances = {{.ulps = 16}}}, compileForGpu);
}

TEST(GpuProgram, FullReductionInBlocks) {
  SKIP_WITHOUT_LIBDEVICE();
  for (std::string size : {"100003", "65536"})
    checkProgram(fullReductionProgram(size), {.tolerances = {{.ulps = 1e4}}}, compileForGpu);
}

// Squares through shared memory, with remainders on both sides.
TEST(GpuProgram, JoinedArrays) {
  checkProgram(joinedProgram("9", "133"), {.tolerances = {{.ulps = 4}, {}, {}}}, compileForGpu);
}

TEST(GpuProgram, PaddedArrays) { checkProgram(paddedProgram("9", "133"), {.inputs = InputKind::Wild}, compileForGpu); }

TEST(GpuProgram, Transposes) { checkProgram(transposeProgram(), {.inputs = InputKind::Wild}, compileForGpu); }

// Scans along both dimensions, over several rounds of a block.
TEST(GpuProgram, Scans) { checkProgram(scanProgram(), {.inputs = InputKind::Wild}, compileForGpu); }

TEST(GpuProgram, ArgumentReturnedAndResultTwice) {
  checkProgram(returnProgram(), {.inputs = InputKind::Wild}, compileForGpu);
}
