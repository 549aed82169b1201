//===- ControlTest.cpp - loops, branches and prints of the array dialect --===//

#include "ir/evaluate/GlobalEvaluator.h"
#include "ir/evaluate/ProcessGridEvaluator.h"
#include "tests/ir/support/IrTest.h"

#include "mlir/Pass/PassManager.h"
#include "mlir/Transforms/Passes.h"

using namespace mlir;
using namespace spmdc;

namespace {

class ControlTest : public IrTest {
protected:
  /// The first result by both evaluators, which must agree.
  std::vector<double> evaluate(const char *text, ArrayRef<Tensor> arguments) {
    auto module = parseValid(text);
    if (!module)
      return {};
    auto global = evaluateGlobal(functionOf(*module), arguments);
    EXPECT_TRUE(succeeded(global)) << diagnosticText();
    ProcessGridEvaluator grid(MeshAttr::fromValue(&context, "m", spmd::MeshShape{{{"a", 3}}}));
    auto local = grid.evaluateGlobalView(functionOf(*module), arguments);
    EXPECT_TRUE(succeeded(local)) << diagnosticText();
    if (failed(global) || failed(local))
      return {};
    EXPECT_EQ(floatsOf((*global)[0]), floatsOf((*local)[0]));
    EXPECT_EQ(intsOf((*global)[0]), intsOf((*local)[0]));
    return floatsOf((*global)[0]);
  }

  std::string canonicalize(const char *text) {
    auto module = parseValid(text);
    if (!module)
      return {};
    PassManager manager(&context);
    manager.addPass(createCanonicalizerPass());
    EXPECT_TRUE(succeeded(manager.run(*module)));
    return print(*module);
  }

  void expectInvalid(const char *text, const char *message) {
    diagnostics.clear();
    EXPECT_FALSE(parse(text));
    EXPECT_NE(diagnosticText().find(message), std::string::npos) << diagnosticText();
  }
};

// x, y = y, x + i for i = 2, 3, 4 from (1, 10): (10, 3), (3, 13), (13, 7).
constexpr const char *kSwap = R"mlir(
  func.func @main(%x: !spmd.array<f32[]>, %y: !spmd.array<f32[]>) -> !spmd.array<f32[]> {
    %0:2 = array.for 2 to 5 (%x, %y) {
    ^bb0(%i: !spmd.array<i32[]>, %c: !spmd.array<f32[]>, %d: !spmd.array<f32[]>):
      %1 = array.convert %i : <i32[]> -> <f32[]>
      %2 = array.add %c, %1 : <f32[]>
      array.yield %d, %2 : !spmd.array<f32[]>, !spmd.array<f32[]>
    } : (!spmd.array<f32[]>, !spmd.array<f32[]>) -> (!spmd.array<f32[]>, !spmd.array<f32[]>)
    %3 = array.multiply %0#0, %0#1 : <f32[]>
    return %3 : !spmd.array<f32[]>
  })mlir";

TEST_F(ControlTest, ForCountsAndCarries) {
  EXPECT_EQ(evaluate(kSwap, {f32({}, {1}), f32({}, {10})}), std::vector<double>{13 * 7});
}

// Halves until below one; 5 -> 0.625. The condition is checked before the first iteration; a NaN ends the loop.
TEST_F(ControlTest, WhileRunsUntilItsConditionFails) {
  constexpr const char *text = R"mlir(
    func.func @main(%x: !spmd.array<f32[]>) -> !spmd.array<f32[]> {
      %one = array.constant dense<1.0> : tensor<f32> -> <f32[]>
      %half = array.constant dense<0.5> : tensor<f32> -> <f32[]>
      %0 = array.while (%x) {
      ^bb0(%c: !spmd.array<f32[]>):
        %1 = array.compare ge %c, %one : <f32[]>, <f32[]> -> <bool[]>
        array.yield %1 : !spmd.array<bool[]>
      } do {
      ^bb0(%c: !spmd.array<f32[]>):
        %1 = array.multiply %c, %half : <f32[]>
        array.yield %1 : !spmd.array<f32[]>
      } : (!spmd.array<f32[]>) -> !spmd.array<f32[]>
      return %0 : !spmd.array<f32[]>
    })mlir";
  EXPECT_EQ(evaluate(text, {f32({}, {5})}), std::vector<double>{0.625});
  EXPECT_EQ(evaluate(text, {f32({}, {0.75})}), std::vector<double>{0.75});
  auto module = parseValid(text);
  auto result = evaluateGlobal(functionOf(*module), {f32({}, {std::nan("")})});
  EXPECT_TRUE(std::isnan((*result)[0].elements[0].f));
}

TEST_F(ControlTest, IfTakesOneBranch) {
  constexpr const char *text = R"mlir(
    func.func @main(%p: !spmd.array<bool[]>, %x: !spmd.array<f32[2]>) -> !spmd.array<f32[2]> {
      %0 = array.if %p {
        %1 = array.negate %x : <f32[2]>
        array.yield %1 : !spmd.array<f32[2]>
      } else {
        array.print ["taken ", ""](%x) : !spmd.array<f32[2]>
        array.yield %x : !spmd.array<f32[2]>
      } : (!spmd.array<bool[]>) -> !spmd.array<f32[2]>
      return %0 : !spmd.array<f32[2]>
    })mlir";
  Tensor isTrue({}, IntegerType::get(&context, 1), Scalar::ofBool(true));
  Tensor isFalse({}, IntegerType::get(&context, 1), Scalar::ofBool(false));
  EXPECT_EQ(evaluate(text, {isTrue, f32({2}, {1, 2})}), (std::vector<double>{-1, -2}));
  EXPECT_EQ(evaluate(text, {isFalse, f32({2}, {1, 2})}), (std::vector<double>{1, 2}));
}

// Each device takes its own branch and runs its own number of iterations, except around collectives.
TEST_F(ControlTest, DevicesGoTheirOwnWays) {
  auto run = [&](const std::string &inArm) {
    auto module = parseValid(R"mlir(
      module attributes {spmd.mesh = #spmd.mesh<m, a=4>} {
      func.func @main(%x: !spmd.array<i32[4@a]>) -> !spmd.array<i32[4@a]> {
        %0 = spmd.manual(%x) {
        ^bb0(%p: !spmd.array<i32[1]>):
          %i = spmd.axis_index <a> : <i32[]>
          %two = array.constant dense<2> : tensor<i32> -> <i32[]>
          %q = array.compare lt %i, %two : <i32[]>, <i32[]> -> <bool[]>
          %1 = array.if %q {
            %n = array.negate %p : <i32[1]>
            )mlir" + inArm + R"mlir(
            array.yield %n : !spmd.array<i32[1]>
          } else {
            array.yield %p : !spmd.array<i32[1]>
          } : (!spmd.array<bool[]>) -> !spmd.array<i32[1]>
          %2, %j = array.while (%1, %i) {
          ^bb0(%c: !spmd.array<i32[1]>, %k: !spmd.array<i32[]>):
            %r = array.compare lt %k, %two : <i32[]>, <i32[]> -> <bool[]>
            array.yield %r : !spmd.array<bool[]>
          } do {
          ^bb0(%c: !spmd.array<i32[1]>, %k: !spmd.array<i32[]>):
            %d = array.add %c, %c : <i32[1]>
            %one = array.constant dense<1> : tensor<i32> -> <i32[]>
            %l = array.add %k, %one : <i32[]>
            array.yield %d, %l : !spmd.array<i32[1]>, !spmd.array<i32[]>
          } : (!spmd.array<i32[1]>, !spmd.array<i32[]>) -> (!spmd.array<i32[1]>, !spmd.array<i32[]>)
          spmd.yield %2 : !spmd.array<i32[1]>
        } : (!spmd.array<i32[4@a]>) -> !spmd.array<i32[4@a]>
        return %0 : !spmd.array<i32[4@a]>
      }
      })mlir");
    return evaluateGlobal(functionOf(*module), {i32({4}, {1, 2, 3, 4})});
  };
  auto results = run("");
  ASSERT_TRUE(succeeded(results)) << diagnosticText();
  EXPECT_EQ((*results)[0].elements[0].i, -4);
  EXPECT_EQ((*results)[0].elements[1].i, -4);
  EXPECT_EQ((*results)[0].elements[2].i, 3);
  EXPECT_EQ((*results)[0].elements[3].i, 4);
  EXPECT_TRUE(failed(run("%s = spmd.all_reduce sum %p over <a> : <i32[1]> -> <i32[1]>")));
  EXPECT_NE(diagnosticText().find("contains a collective whose devices do not agree on the predicate"),
            std::string::npos);
}

TEST_F(ControlTest, LoopsOfFewTripsVanish) {
  std::string zero = std::string(kSwap);
  zero.replace(zero.find("2 to 5"), 6, "5 to 2");
  std::string text = canonicalize(zero.c_str());
  EXPECT_EQ(text.find("array.for"), std::string::npos) << text;
  EXPECT_NE(text.find("array.multiply %arg0, %arg1"), std::string::npos) << text;
  std::string once = std::string(kSwap);
  once.replace(once.find("2 to 5"), 6, "2 to 3");
  EXPECT_EQ(canonicalize(once.c_str()).find("array.for"), std::string::npos);
  EXPECT_EQ(evaluate(once.c_str(), {f32({}, {1}), f32({}, {10})}), std::vector<double>{30});
  EXPECT_NE(canonicalize(kSwap).find("array.for 2 to 5"), std::string::npos);
}

// The second carry is invariant: it is replaced by the argument, inside and after the loop. The print is kept.
TEST_F(ControlTest, InvariantCarriesVanish) {
  std::string text = canonicalize(R"mlir(
    func.func @main(%x: !spmd.array<f32[]>, %y: !spmd.array<f32[]>) -> !spmd.array<f32[]> {
      %0:2 = array.for 0 to 9 (%x, %y) {
      ^bb0(%i: !spmd.array<i32[]>, %c: !spmd.array<f32[]>, %d: !spmd.array<f32[]>):
        %1 = array.add %c, %d : <f32[]>
        array.print ["", ""](%1) : !spmd.array<f32[]>
        array.yield %1, %d : !spmd.array<f32[]>, !spmd.array<f32[]>
      } : (!spmd.array<f32[]>, !spmd.array<f32[]>) -> (!spmd.array<f32[]>, !spmd.array<f32[]>)
      return %0#1 : !spmd.array<f32[]>
    })mlir");
  EXPECT_NE(text.find("array.for 0 to 9(%arg0)"), std::string::npos) << text;
  EXPECT_NE(text.find(", %arg1 : <f32[]>"), std::string::npos) << text;
  EXPECT_NE(text.find("array.print"), std::string::npos) << text;
  EXPECT_NE(text.find("return %arg1"), std::string::npos) << text;
}

TEST_F(ControlTest, BranchesOnConstantsVanish) {
  std::string text = canonicalize(R"mlir(
    func.func @main(%x: !spmd.array<f32[]>) -> !spmd.array<f32[]> {
      %p = array.constant dense<false> : tensor<i1> -> <bool[]>
      %0 = array.if %p {
        array.yield %x : !spmd.array<f32[]>
      } else {
        %1 = array.exp %x : <f32[]>
        array.yield %1 : !spmd.array<f32[]>
      } : (!spmd.array<bool[]>) -> !spmd.array<f32[]>
      return %0 : !spmd.array<f32[]>
    })mlir");
  EXPECT_EQ(text.find("array.if"), std::string::npos) << text;
  EXPECT_NE(text.find("array.exp"), std::string::npos) << text;
}

TEST_F(ControlTest, VerifiersNameWhatDoesNotFit) {
  expectInvalid(R"mlir(
    func.func @main(%x: !spmd.array<f32[2]>) {
      %0 = array.for 0 to 4 (%x) {
      ^bb0(%i: !spmd.array<i32[]>, %c: !spmd.array<f32[3]>):
        array.yield %c : !spmd.array<f32[3]>
      } : (!spmd.array<f32[2]>) -> !spmd.array<f32[2]>
      return
    })mlir",
                "body arguments: value 0 is f32[3], the result f32[2]");
  expectInvalid(R"mlir(
    func.func @main(%x: !spmd.array<f32[2]>) {
      %0 = array.for 0 to 4294967296 (%x) {
      ^bb0(%i: !spmd.array<i32[]>, %c: !spmd.array<f32[2]>):
        array.yield %c : !spmd.array<f32[2]>
      } : (!spmd.array<f32[2]>) -> !spmd.array<f32[2]>
      return
    })mlir",
                "bound 4294967296 is not an i32");
  expectInvalid(R"mlir(
    func.func @main(%x: !spmd.array<f32[2]>) {
      %0 = array.for 0 to 4 (%x) {
      ^bb0(%i: !spmd.array<i32[]>, %c: !spmd.array<f32[2]>):
        array.yield
      } : (!spmd.array<f32[2]>) -> !spmd.array<f32[2]>
      return
    })mlir",
                "the body's yield: 0 values for 1 results");
  expectInvalid(R"mlir(
    func.func @main(%x: !spmd.array<f32[2]>, %p: !spmd.array<bool[2]>) {
      array.while () {
        array.yield %p : !spmd.array<bool[2]>
      } do {
        array.yield
      } : () -> ()
      return
    })mlir",
                "the condition must yield one bool[]");
  expectInvalid(R"mlir(
    func.func @main(%x: !spmd.array<f32[2]>) {
      array.if %x {
        array.yield
      } else {
        array.yield
      } : (!spmd.array<f32[2]>) -> ()
      return
    })mlir",
                "the predicate must be a bool[], got f32[2]");
  expectInvalid(R"mlir(
    func.func @main(%x: !spmd.array<f32[2]>) {
      array.print ["a"](%x) : !spmd.array<f32[2]>
      return
    })mlir",
                "has 1 texts around 1 values");
}

} // namespace
