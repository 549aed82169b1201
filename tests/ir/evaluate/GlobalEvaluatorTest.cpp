//===- GlobalEvaluatorTest.cpp - reference results ------------------------===//

#include "ir/evaluate/GlobalEvaluator.h"
#include "tests/ir/support/IrTest.h"

#include <cmath>

using namespace spmdc;

namespace {

class GlobalEvaluatorTest : public IrTest {};

// sum(sin(reshape(arange(32), [4, 8]))), the toy whose value is known: shardings, constraints and reshards change
// nothing.
TEST_F(GlobalEvaluatorTest, ShardingsDoNotChangeValues) {
  auto module = parseValid(R"mlir(
    module attributes {spmd.mesh = #spmd.mesh<m, i=4, j=2>} {
      func.func @main() -> !spmd.array<f32[]> {
        %0 = array.iota dim 0 : <f32[32]>
        %1 = array.reshape %0 : <f32[32]> -> <f32[4@i, 8@j]>
        %2 = spmd.constraint %1 : <f32[4@i, 8@j]> -> <f32[4, 8@i]>
        %3 = array.sin %2 : (<f32[4, 8@i]>) -> <f32[4, 8@i]>
        %4 = spmd.reshard %3 : <f32[4, 8@i]> -> <f32[4@j, 8]>
        %5 = array.reduce sum %4 dims [0, 1] : <f32[4@j, 8]> -> <f32[]>
        return %5 : !spmd.array<f32[]>
      }
    })mlir");
  auto results = evaluateGlobal(functionOf(*module), {});
  ASSERT_TRUE(mlir::succeeded(results)) << diagnosticText();
  EXPECT_NEAR((*results)[0].elements[0].f, -0.12398731, 2e-6);
}

TEST_F(GlobalEvaluatorTest, ReturnsArgumentsAndSeveralResults) {
  auto module = parseValid(R"mlir(
    func.func @main(%x: !spmd.array<f32[2]>, %y: !spmd.array<f32[2]>)
        -> (!spmd.array<f32[2]>, !spmd.array<f32[2]>) {
      %0 = array.subtract %x, %y : <f32[2]>
      return %y, %0 : !spmd.array<f32[2]>, !spmd.array<f32[2]>
    })mlir");
  auto results = evaluateGlobal(functionOf(*module), {f32({2}, {5, 7}), f32({2}, {1, 2})});
  ASSERT_TRUE(mlir::succeeded(results));
  EXPECT_EQ(floatsOf((*results)[0]), (std::vector<double>{1, 2}));
  EXPECT_EQ(floatsOf((*results)[1]), (std::vector<double>{4, 5}));
}

// Each result is rounded to its own type: 2^24 + 1 is not an f32, and 1 + 2^-9 is not a bf16.
TEST_F(GlobalEvaluatorTest, RoundsAfterEveryOperation) {
  auto module = parseValid(R"mlir(
    func.func @main(%x: !spmd.array<f32[2]>, %y: !spmd.array<f32[2]>)
        -> (!spmd.array<f32[2]>, !spmd.array<bf16[2]>) {
      %0 = array.add %x, %y : <f32[2]>
      %1 = array.subtract %0, %x : <f32[2]>
      %2 = array.convert %0 : <f32[2]> -> <bf16[2]>
      return %1, %2 : !spmd.array<f32[2]>, !spmd.array<bf16[2]>
    })mlir");
  auto results = evaluateGlobal(functionOf(*module), {f32({2}, {16777216, 1}), f32({2}, {1, std::ldexp(1, -9)})});
  ASSERT_TRUE(mlir::succeeded(results));
  EXPECT_EQ(floatsOf((*results)[0]), (std::vector<double>{0, std::ldexp(1, -9)}));
  EXPECT_EQ(floatsOf((*results)[1]), (std::vector<double>{16777216, 1}));
}

TEST_F(GlobalEvaluatorTest, CollectivesHaveNoGlobalMeaning) {
  auto module = parseValid(R"mlir(
    module attributes {spmd.mesh = #spmd.mesh<m, a=2>} {
      func.func @main(%x: !spmd.array<f32[2]>) -> !spmd.array<f32[2]> {
        %0 = spmd.all_reduce sum %x over <a> : <f32[2]> -> <f32[2]>
        return %0 : !spmd.array<f32[2]>
      }
    })mlir");
  EXPECT_TRUE(mlir::failed(evaluateGlobal(functionOf(*module), {f32({2}, {1, 2})})));
  EXPECT_NE(diagnosticText().find("'spmd.all_reduce' has no reference evaluation"), std::string::npos);
}

TEST_F(GlobalEvaluatorTest, ChecksItsArguments) {
  auto module = parseValid(R"mlir(
    func.func @main(%x: !spmd.array<f32[2]>) -> !spmd.array<f32[2]> {
      return %x : !spmd.array<f32[2]>
    })mlir");
  EXPECT_TRUE(mlir::failed(evaluateGlobal(functionOf(*module), {})));
  EXPECT_TRUE(mlir::failed(evaluateGlobal(functionOf(*module), {f32({3}, {1, 2, 3})})));
  EXPECT_NE(diagnosticText().find("takes 1 arguments, got 0"), std::string::npos);
  EXPECT_NE(diagnosticText().find("argument 0 is not a f32[2]"), std::string::npos);
}

} // namespace
