//===- GridStepsTest.cpp - the steps of the plan dialect on all devices ---===//

#include "ir/evaluate/ProcessGridEvaluator.h"
#include "tests/ir/support/IrTest.h"

using namespace spmdc;

namespace {

class GridStepsTest : public IrTest {
protected:
  std::vector<double> run(llvm::StringRef text, llvm::ArrayRef<Tensor> arguments) {
    auto module = parseValid(text);
    if (!module)
      return {};
    auto results = ProcessGridEvaluator(getMesh(*module)).evaluateGlobalView(functionOf(*module), arguments);
    EXPECT_TRUE(mlir::succeeded(results)) << diagnosticText();
    return mlir::succeeded(results) ? floatsOf((*results)[0]) : std::vector<double>();
  }
};

using Row = std::vector<double>;

TEST_F(GridStepsTest, LaunchRunsItsKernel) {
  EXPECT_EQ(run(R"mlir(
    plan.kernel @difference(%x: !spmd.array<f32[2]>, %y: !spmd.array<f32[2]>) {
      %0 = array.subtract %x, %y : <f32[2]>
      plan.return %0 : !spmd.array<f32[2]>
    }
    func.func @main(%x: !spmd.array<f32[2]>, %y: !spmd.array<f32[2]>) -> !spmd.array<f32[2]> {
      %0 = plan.launch @difference(%x, %y) : (!spmd.array<f32[2]>, !spmd.array<f32[2]>) -> !spmd.array<f32[2]>
      %1 = plan.launch @difference(%0, %y) : (!spmd.array<f32[2]>, !spmd.array<f32[2]>) -> !spmd.array<f32[2]>
      %2 = plan.copy %1 : <f32[2]> -> <f32[2]>
      return %2 : !spmd.array<f32[2]>
    })mlir",
                {f32({2}, {10, 20}), f32({2}, {1, 3})}),
            (Row{8, 14}));
}

// lhs is stored as [k, m] and rhs as [n, k]; the epilogue adds a bias to the product.
TEST_F(GridStepsTest, MatmulWithTransposedSidesAndEpilogue) {
  EXPECT_EQ(run(R"mlir(
    plan.kernel @bias(%p: !spmd.array<f32[2, 2]>, %b: !spmd.array<f32[2]>) {
      %0 = array.broadcast_in_dim %b dims [1] : <f32[2]> -> <f32[2, 2]>
      %1 = array.add %p, %0 : <f32[2, 2]>
      plan.return %1 : !spmd.array<f32[2, 2]>
    }
    func.func @main(%x: !spmd.array<f32[3, 2]>, %y: !spmd.array<f32[2, 3]>, %b: !spmd.array<f32[2]>)
        -> !spmd.array<f32[2, 2]> {
      %0 = plan.matmul %x, %y epilogue @bias(%b : !spmd.array<f32[2]>)
             {batch = 1 : i64, m = 2 : i64, n = 2 : i64, k = 3 : i64, transposeLhs = true, transposeRhs = true}
             : !spmd.array<f32[3, 2]>, !spmd.array<f32[2, 3]> -> !spmd.array<f32[2, 2]>
      return %0 : !spmd.array<f32[2, 2]>
    })mlir",
                // x^T y^T with x = [[0, 1], [2, 3], [4, 5]] and y = [[1, 0, 0], [0, 1, 1]]
                {iotaF32({3, 2}), f32({2, 3}, {1, 0, 0, 0, 1, 1}), f32({2}, {100, 200})}),
            (Row{100, 206, 101, 208}));
}

// Windows of two elements of x; columns of y that are its reversed rows.
TEST_F(GridStepsTest, MatmulOfViews) {
  EXPECT_EQ(run(R"mlir(
    func.func @main(%x: !spmd.array<f32[4]>, %y: !spmd.array<f32[3, 2]>) -> !spmd.array<f32[3, 2]> {
      %0 = plan.matmul %x, %y {batch = 1 : i64, m = 3 : i64, n = 2 : i64, k = 2 : i64, transposeLhs = false,
             transposeRhs = false, lhsView = #plan.view<offset = 0, batch = [], rows = [3, 1], columns = [2, 1]>,
             rhsView = #plan.view<offset = 2, batch = [], rows = [2, 1], columns = [2, 2]>}
             : !spmd.array<f32[4]>, !spmd.array<f32[3, 2]> -> !spmd.array<f32[3, 2]>
      return %0 : !spmd.array<f32[3, 2]>
    })mlir",
                // [[0, 1], [1, 2], [2, 3]] times [[2, 4], [3, 5]]
                {iotaF32({4}), iotaF32({3, 2})}),
            (Row{3, 5, 8, 14, 13, 23}));
}

TEST_F(GridStepsTest, CollectiveBetweenStartAndDone) {
  EXPECT_EQ(run(R"mlir(
    module attributes {spmd.mesh = #spmd.mesh<m, a=2>} {
      func.func @main(%x: !spmd.array<f32[1]> {spmd.global = !spmd.array<f32[2@a]>})
          -> (!spmd.array<f32[2]> {spmd.global = !spmd.array<f32[2]>}) {
        %0 = plan.start 0 (%x : !spmd.array<f32[1]>) {
        ^bb0(%arg: !spmd.array<f32[1]>):
          %g = spmd.all_gather %arg dim 0 over <a> : <f32[1]> -> <f32[2]>
          plan.yield %g : !spmd.array<f32[2]>
        }
        %1 = plan.done %0 : !spmd.array<f32[2]>
        return %1 : !spmd.array<f32[2]>
      }
    })mlir",
                {f32({2}, {4, 5})}),
            (Row{4, 5}));
}

// Counts from x down to zero and doubles y each time; then takes a branch by the count.
TEST_F(GridStepsTest, LoopsAndBranches) {
  EXPECT_EQ(run(R"mlir(
    func.func @main(%x: !spmd.array<f32[]>, %y: !spmd.array<f32[]>) -> !spmd.array<f32[]> {
      %one = plan.constant dense<1.0> : tensor<f32> -> !spmd.array<f32[]>
      %zero = plan.constant dense<0.0> : tensor<f32> -> !spmd.array<f32[]>
      %0:2 = plan.while (%x, %y) {
      ^bb0(%i: !spmd.array<f32[]>, %v: !spmd.array<f32[]>):
        %c = array.compare gt %i, %zero : <f32[]>, <f32[]> -> <bool[]>
        plan.yield %c : !spmd.array<bool[]>
      } do {
      ^bb0(%i: !spmd.array<f32[]>, %v: !spmd.array<f32[]>):
        %j = array.subtract %i, %one : <f32[]>
        %w = array.add %v, %v : <f32[]>
        plan.yield %j, %w : !spmd.array<f32[]>, !spmd.array<f32[]>
      } : (!spmd.array<f32[]>, !spmd.array<f32[]>) -> (!spmd.array<f32[]>, !spmd.array<f32[]>)
      %p = array.compare eq %0#0, %zero : <f32[]>, <f32[]> -> <bool[]>
      %1 = plan.if %p {
        plan.yield %0#1 : !spmd.array<f32[]>
      } else {
        plan.yield %zero : !spmd.array<f32[]>
      } : !spmd.array<bool[]> -> !spmd.array<f32[]>
      return %1 : !spmd.array<f32[]>
    })mlir",
                {f32({}, {3}), f32({}, {5})}),
            (Row{40}));
}

TEST_F(GridStepsTest, MissingKernelIsNamed) {
  auto module = parseValid(R"mlir(
    func.func @main(%x: !spmd.array<f32[]>) -> !spmd.array<f32[]> {
      %0 = plan.launch @nowhere(%x) : (!spmd.array<f32[]>) -> !spmd.array<f32[]>
      return %0 : !spmd.array<f32[]>
    })mlir");
  EXPECT_TRUE(
      mlir::failed(ProcessGridEvaluator(getMesh(*module)).evaluateGlobalView(functionOf(*module), {f32({}, {1})})));
  EXPECT_NE(diagnosticText().find("unknown kernel @nowhere"), std::string::npos);
}

} // namespace
