//===- ProgramTest.cpp - programs for a GPU, emulated, against the reference ===//
//
// Every program is compiled to PTX, which ptxas has to take without a spill, and its kernels run thread by thread in
// the emulator forwards, backwards and shuffled, with the same bits each time.
//
//===----------------------------------------------------------------------===//

#include "tests/passes/gpu/GpuProgramHelper.h"

#include "ir/evaluate/GlobalEvaluator.h"
#include "ir/spmd/SpmdTypes.h"
#include "tests/passes/cpu/CompiledProgramHelper.h"

#include "mlir/Parser/Parser.h"

#include <gtest/gtest.h>

#include <cmath>

using namespace mlir;
using namespace spmdc;

namespace {

/// Within `tolerance` units of the last place, or within `absolute` where sums cancel.
void check(const std::string &text, double tolerance, InputKind kind = InputKind::Ordinary, double absolute = 0) {
  std::unique_ptr<MLIRContext> context = makeTestContext();
  OwningOpRef<ModuleOp> module = parseSourceString<ModuleOp>(text, context.get());
  ASSERT_TRUE(module);
  auto function = *module->getOps<func::FuncOp>().begin();
  std::vector<Tensor> arguments;
  for (auto [number, argument] : llvm::enumerate(function.getArguments())) {
    auto type = cast<ArrayType>(argument.getType());
    arguments.push_back(makeInput(type.getShape(), type.getElementType(), 17 + number, kind));
  }
  auto expected = evaluateGlobal(function, arguments);
  ASSERT_TRUE(succeeded(expected));
  GpuProgram program(*module);
  ASSERT_TRUE(program.isGood());
  if (Ptxas::isAvailable()) {
    std::optional<std::string> problem = Ptxas::check(program.artifact.code, "sm_90");
    EXPECT_FALSE(problem.has_value()) << *problem << program.artifact.code;
  }
  std::vector<Tensor> actual = program.run(arguments, ThreadOrder::forward());
  ASSERT_EQ(actual.size(), expected->size());
  for (auto [number, pair] : llvm::enumerate(llvm::zip(actual, *expected))) {
    auto &[got, wanted] = pair;
    for (int64_t i = 0; i < wanted.size(); ++i)
      ASSERT_TRUE(ulpDistance(wanted.elementType, got.elements[i], wanted.elements[i]) <= tolerance ||
                  std::abs(got.elements[i].f - wanted.elements[i].f) <= absolute)
          << "result " << number << " element " << i << ": " << got.elements[i].f << " or " << got.elements[i].i
          << ", expected " << wanted.elements[i].f << " or " << wanted.elements[i].i;
  }
  for (ThreadOrder order : {ThreadOrder::backward(), ThreadOrder::shuffled(1)}) {
    std::vector<Tensor> again = program.run(arguments, order);
    ASSERT_EQ(again.size(), actual.size());
    for (auto [got, wanted] : llvm::zip(again, actual))
      EXPECT_EQ(toBytes(got), toBytes(wanted));
  }
}

} // namespace

// Neighbours in one thread, one by one, and with a rest in the last block. tanh, of at most 1, is within 4 units of the
// last place; where x cancels it, they stay.
TEST(GpuProgram, Elementwise) {
  for (std::string shape : {"7", "1000", "65536", "131, 1000", "3, 5, 7"}) {
    std::string type = "<f32[" + shape + "]>";
    check("func.func @main(%x: !spmd.array" + type + ", %y: !spmd.array" + type + ") -> !spmd.array" + type + R"( {
      %0 = array.multiply %x, %y : )" +
              type + R"(
      %1 = array.tanh %0 : )" +
              type + R"(
      %2 = array.add %1, %x : )" +
              type + R"(
      return %2 : !spmd.array)" +
              type + "\n}",
          4, InputKind::Ordinary, /*absolute=*/4 * 0x1p-24);
  }
}

// Rows of a warp, of several warps and of more rounds than are unrolled, with stashes in registers and in shared
// memory.
TEST(GpuProgram, Softmax) {
  for (std::string rows : {"1", "7", "600"})
    for (std::string size : {"1", "3", "33", "1000", "10000", "20000"}) {
      if (rows == "600" && size.size() == 5)
        continue;
      std::string whole = "<f32[" + rows + ", " + size + "]>", row = "<f32[" + rows + "]>";
      check("func.func @main(%x: !spmd.array" + whole + ") -> !spmd.array" + whole + R"( {
        %m = array.reduce max %x dims [1] : )" +
                whole + " -> " + row + R"(
        %mb = array.broadcast_in_dim %m dims [0] : )" +
                row + " -> " + whole + R"(
        %s = array.subtract %x, %mb : )" +
                whole + R"(
        %e = array.exp %s : )" +
                whole + R"(
        %z = array.reduce sum %e dims [1] : )" +
                whole + " -> " + row + R"(
        %zb = array.broadcast_in_dim %z dims [0] : )" +
                row + " -> " + whole + R"(
        %p = array.divide %e, %zb : )" +
                whole + R"(
        return %p : !spmd.array)" +
                whole + "\n}",
            16);
    }
}

// A thread a row.
TEST(GpuProgram, SoftmaxOverFirstDimension) {
  check(R"(func.func @main(%x: !spmd.array<f32[33, 301]>) -> !spmd.array<f32[33, 301]> {
    %m = array.reduce max %x dims [0] : <f32[33, 301]> -> <f32[301]>
    %mb = array.broadcast_in_dim %m dims [1] : <f32[301]> -> <f32[33, 301]>
    %s = array.subtract %x, %mb : <f32[33, 301]>
    %e = array.exp %s : <f32[33, 301]>
    %z = array.reduce sum %e dims [0] : <f32[33, 301]> -> <f32[301]>
    %zb = array.broadcast_in_dim %z dims [1] : <f32[301]> -> <f32[33, 301]>
    %p = array.divide %e, %zb : <f32[33, 301]>
    return %p : !spmd.array<f32[33, 301]>
  })",
        16);
}

TEST(GpuProgram, FullReductionInBlocks) {
  for (std::string size : {"100003", "65536"})
    check("func.func @main(%x: !spmd.array<f64[" + size + "]>) -> (!spmd.array<f64[]>, !spmd.array<f64[]>) {\n" +
              "%s = array.sin %x : <f64[" + size + "]>\n" + "%0 = array.reduce sum %s dims [0] : <f64[" + size +
              "]> -> <f64[]>\n" + "%1 = array.reduce max %x dims [0] : <f64[" + size + "]> -> <f64[]>\n" +
              "return %0, %1 : !spmd.array<f64[]>, !spmd.array<f64[]>\n}",
          1e4);
}

// Squares through shared memory, with rests on both sides.
TEST(GpuProgram, Transposes) {
  check(R"(func.func @main(%x: !spmd.array<f32[37, 53]>, %y: !spmd.array<i8[3, 20, 40]>)
      -> (!spmd.array<f32[53, 37]>, !spmd.array<i8[40, 3, 20]>) {
    %0 = array.transpose %x perm [1, 0] : <f32[37, 53]> -> <f32[53, 37]>
    %1 = array.transpose %y perm [2, 0, 1] : <i8[3, 20, 40]> -> <i8[40, 3, 20]>
    return %0, %1 : !spmd.array<f32[53, 37]>, !spmd.array<i8[40, 3, 20]>
  })",
        0, InputKind::Wild);
}

// Scans along both dimensions, over several rounds of a block.
TEST(GpuProgram, Scans) {
  check(R"(func.func @main(%x: !spmd.array<f32[5, 1300]>, %y: !spmd.array<i32[40, 9]>)
      -> (!spmd.array<f32[5, 1300]>, !spmd.array<f32[5, 1300]>, !spmd.array<i32[40, 9]>, !spmd.array<i32[40, 9]>) {
    %0 = array.cumulative max %x dim 1 : <f32[5, 1300]> -> <f32[5, 1300]>
    %1 = array.cumulative max %x dim 0 : <f32[5, 1300]> -> <f32[5, 1300]>
    %2 = array.cumulative sum %y dim 1 : <i32[40, 9]> -> <i32[40, 9]>
    %3 = array.cumulative sum %y dim 0 : <i32[40, 9]> -> <i32[40, 9]>
    return %0, %1, %2, %3 : !spmd.array<f32[5, 1300]>, !spmd.array<f32[5, 1300]>, !spmd.array<i32[40, 9]>, !spmd.array<i32[40, 9]>
  })",
        0, InputKind::Wild);
}
