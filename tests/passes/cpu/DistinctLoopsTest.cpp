//===- DistinctLoopsTest.cpp - kernels with the same loops share code -----===//

#include "tests/passes/cpu/CompiledProgramHelper.h"
#include "tests/passes/support/ReferenceCheck.h"
#include "tests/passes/support/Tensors.h"

#include "mlir/Parser/Parser.h"

#include <gtest/gtest.h>

using namespace mlir;
using namespace spmdc;

namespace {

int count(const std::string &text, const std::string &word) {
  int found = 0;
  for (size_t at = text.find(word); at != std::string::npos; at = text.find(word, at + 1))
    ++found;
  return found;
}

/// The number of functions and of further names in the program's code.
std::pair<int, int> countCode(const std::string &text) {
  std::unique_ptr<MLIRContext> context = makeTestContext();
  OwningOpRef<ModuleOp> module = parseSourceString<ModuleOp>(text, context.get());
  EXPECT_TRUE(module) << text;
  CompiledKernels program(*module);
  FailureOr<std::string> code = emitLlvmText(program.getModule(), program.artifact.plan, CpuTarget::host());
  EXPECT_TRUE(succeeded(code));
  std::pair<int, int> counts{count(*code, "\ndefine void @"), count(*code, " = alias ")};
  auto kernels = program.getModule().getOps<plan::KernelOp>();
  EXPECT_EQ(counts.first + counts.second, std::distance(kernels.begin(), kernels.end()));
  return counts;
}

} // namespace

// A function of each element has the same loop for every shape.
TEST(DistinctLoops, ShapesShareOneFunction) {
  std::string text = R"(func.func @main(%x: !spmd.array<f32[7]>, %y: !spmd.array<f32[5, 3]>,
                                          %z: !spmd.array<f32[40, 50]>)
      -> (!spmd.array<f32[7]>, !spmd.array<f32[5, 3]>, !spmd.array<f32[40, 50]>) {
    %0 = array.negate %x : <f32[7]>
    %1 = array.negate %y : <f32[5, 3]>
    %2 = array.negate %z : <f32[40, 50]>
    return %0, %1, %2 : !spmd.array<f32[7]>, !spmd.array<f32[5, 3]>, !spmd.array<f32[40, 50]>
  })";
  EXPECT_EQ(countCode(text), std::pair(1, 2));
  checkProgram(text, {.inputs = InputKind::Wild}, compileForCpu);
}

// Kernels with different constants, element types, orders of operands, strides or repeated arguments do not share a
// function.
TEST(DistinctLoops, OthersDoNot) {
  std::string text = R"(func.func @main(%a: !spmd.array<f32[7]>, %b: !spmd.array<f32[9]>, %c: !spmd.array<f32[11]>,
      %d: !spmd.array<f32[12]>, %e: !spmd.array<f64[13]>, %f: !spmd.array<f32[3, 5]>, %g: !spmd.array<f32[5, 4]>)
      -> (!spmd.array<f32[7]>, !spmd.array<f32[9]>, !spmd.array<f32[11]>, !spmd.array<f32[12]>, !spmd.array<f64[13]>,
          !spmd.array<f32[5, 3]>, !spmd.array<f32[4, 5]>) {
    %one = array.constant dense<1.0> : tensor<7xf32> -> <f32[7]>
    %two = array.constant dense<2.0> : tensor<9xf32> -> <f32[9]>
    %three = array.constant dense<1.0> : tensor<11xf32> -> <f32[11]>
    %0 = array.subtract %a, %one : <f32[7]>
    %1 = array.subtract %b, %two : <f32[9]>
    %2 = array.subtract %three, %c : <f32[11]>
    %3 = array.subtract %d, %d : <f32[12]>
    %4 = array.negate %e : <f64[13]>
    %5 = array.transpose %f perm [1, 0] : <f32[3, 5]> -> <f32[5, 3]>
    %6 = array.transpose %g perm [1, 0] : <f32[5, 4]> -> <f32[4, 5]>
    return %0, %1, %2, %3, %4, %5, %6 : !spmd.array<f32[7]>, !spmd.array<f32[9]>, !spmd.array<f32[11]>,
      !spmd.array<f32[12]>, !spmd.array<f64[13]>, !spmd.array<f32[5, 3]>, !spmd.array<f32[4, 5]>
  })";
  EXPECT_EQ(countCode(text), std::pair(7, 0));
  checkProgram(text, {.inputs = InputKind::Wild}, compileForCpu);
}
