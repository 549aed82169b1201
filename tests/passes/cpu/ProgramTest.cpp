//===- ProgramTest.cpp - fused programs, compiled, against the reference ---===//

#include "tests/passes/cpu/CompiledProgramHelper.h"

#include "ir/evaluate/GlobalEvaluator.h"
#include "ir/spmd/SpmdTypes.h"

#include "mlir/Parser/Parser.h"

#include <gtest/gtest.h>

using namespace mlir;
using namespace spmdc;

namespace {

/// Compiles the program and compares with the reference, whole and with the range cut into pieces, whose bits must be
/// the same.
void check(const std::string &text, double tolerance, InputKind kind = InputKind::Ordinary) {
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
  CompiledProgram program(*module);
  ASSERT_TRUE(program.isGood());
  std::vector<Tensor> actual = program.run(arguments);
  ASSERT_EQ(actual.size(), expected->size());
  for (auto [got, wanted] : llvm::zip(actual, *expected))
    for (int64_t i = 0; i < wanted.size(); ++i)
      ASSERT_LE(ulpDistance(wanted.elementType, got.elements[i], wanted.elements[i]), tolerance)
          << "element " << i << ": " << got.elements[i].f << " or " << got.elements[i].i << ", expected "
          << wanted.elements[i].f << " or " << wanted.elements[i].i;
  for (RangeSplit split : {RangeSplit::Ones, RangeSplit::Thirds}) {
    std::vector<Tensor> again = program.run(arguments, split);
    for (auto [got, wanted] : llvm::zip(again, actual))
      EXPECT_EQ(toBytes(got), toBytes(wanted));
  }
}

} // namespace

TEST(Program, Softmax) {
  for (std::string rows : {"1", "7"})
    for (std::string size : {"1", "3", "1000"}) {
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

TEST(Program, SoftmaxOverFirstDimension) {
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

TEST(Program, FullReductionInBlocks) {
  for (std::string size : {"70003", "65536"})
    check("func.func @main(%x: !spmd.array<f64[" + size + "]>) -> (!spmd.array<f64[]>, !spmd.array<f64[]>) {\n" +
              "%s = array.sin %x : <f64[" + size + "]>\n" + "%0 = array.reduce sum %s dims [0] : <f64[" + size +
              "]> -> <f64[]>\n" + "%1 = array.reduce max %x dims [0] : <f64[" + size + "]> -> <f64[]>\n" +
              "return %0, %1 : !spmd.array<f64[]>, !spmd.array<f64[]>\n}",
          1e4);
}

TEST(Program, Transposes) {
  check(R"(func.func @main(%x: !spmd.array<f32[37, 53]>, %y: !spmd.array<i8[3, 20, 40]>)
      -> (!spmd.array<f32[53, 37]>, !spmd.array<i8[40, 3, 20]>) {
    %0 = array.transpose %x perm [1, 0] : <f32[37, 53]> -> <f32[53, 37]>
    %1 = array.transpose %y perm [2, 0, 1] : <i8[3, 20, 40]> -> <i8[40, 3, 20]>
    return %0, %1 : !spmd.array<f32[53, 37]>, !spmd.array<i8[40, 3, 20]>
  })",
        0, InputKind::Wild);
}

TEST(Program, ArgumentReturnedAndResultTwice) {
  check(R"(func.func @main(%x: !spmd.array<f32[5]>)
      -> (!spmd.array<f32[5]>, !spmd.array<f32[5]>, !spmd.array<f32[5]>, !spmd.array<f32[2]>) {
    %0 = array.negate %x : <f32[5]>
    %1 = array.constant dense<[1.0, 2.0]> : tensor<2xf32> -> <f32[2]>
    return %x, %0, %0, %1 : !spmd.array<f32[5]>, !spmd.array<f32[5]>, !spmd.array<f32[5]>, !spmd.array<f32[2]>
  })",
        0, InputKind::Wild);
}
