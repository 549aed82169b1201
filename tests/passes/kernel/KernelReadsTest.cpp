//===- KernelReadsTest.cpp - reads of kernels, counted by hand ------------===//

#include "passes/kernel/KernelReads.h"

#include "mlir/Parser/Parser.h"

#include <gtest/gtest.h>

using namespace mlir;

namespace spmdc {
namespace {

using Bytes = std::vector<int64_t>;

class KernelReadsOf : public ::testing::Test {
protected:
  KernelReadsOf() { context.loadDialect<ArrayDialect, SpmdDialect, plan::PlanDialect>(); }

  /// The reads of a kernel of an array %x, a row %v, a number %t and three numbers %ids.
  Bytes count(const std::string &body) {
    OwningOpRef<ModuleOp> module = parse(body);
    return module ? countReadBytes(*module->getOps<plan::KernelOp>().begin()) : Bytes();
  }

  OwningOpRef<ModuleOp> parse(const std::string &body) {
    std::string text = "module attributes {spmd.mesh = #spmd.mesh<m, a=4>} {\nplan.kernel @kernel("
                       "%x: !spmd.array<f32[100, 8]>, %v: !spmd.array<f32[8]>, %t: !spmd.array<i32[]>, "
                       "%ids: !spmd.array<i32[3]>) {\n" +
                       body + "\n}\n}\n";
    OwningOpRef<ModuleOp> module = parseSourceString<ModuleOp>(text, &context);
    EXPECT_TRUE(module) << text;
    return module;
  }

private:
  MLIRContext context;
};

// Every element once, for any number of uses, also after a reduction.
TEST_F(KernelReadsOf, WholeArrays) {
  EXPECT_EQ(count(R"(
    %0 = array.multiply %x, %x : <f32[100, 8]>
    %1 = array.reduce sum %0 dims [1] : <f32[100, 8]> -> <f32[100]>
    %2 = array.broadcast_in_dim %1 dims [0] : <f32[100]> -> <f32[100, 8]>
    %3 = array.divide %x, %2 : <f32[100, 8]>
    plan.return %3 : !spmd.array<f32[100, 8]>)"),
            (Bytes{3200, 0, 0, 0}));
}

// A broadcast array has its own size.
TEST_F(KernelReadsOf, Broadcast) {
  EXPECT_EQ(count(R"(
    %0 = array.broadcast_in_dim %v dims [1] : <f32[8]> -> <f32[100, 8]>
    %1 = array.add %x, %0 : <f32[100, 8]>
    plan.return %1 : !spmd.array<f32[100, 8]>)"),
            (Bytes{3200, 32, 0, 0}));
}

// 10 rows, and every second one of 20: together 20 rows of 32 bytes.
TEST_F(KernelReadsOf, Slices) {
  EXPECT_EQ(count(R"(
    %0 = array.slice %x [0, 0] to [10, 8] step [1, 1] : <f32[100, 8]> -> <f32[10, 8]>
    %1 = array.slice %x [50, 0] to [70, 8] step [2, 1] : <f32[100, 8]> -> <f32[10, 8]>
    %2 = array.subtract %0, %1 : <f32[10, 8]>
    plan.return %2 : !spmd.array<f32[10, 8]>)"),
            (Bytes{640, 0, 0, 0}));
}

// Overlapping slices count no more than the array: 99 rows and 99 rows of 100.
TEST_F(KernelReadsOf, SlicesThatOverlap) {
  EXPECT_EQ(count(R"(
    %0 = array.slice %x [0, 0] to [99, 8] step [1, 1] : <f32[100, 8]> -> <f32[99, 8]>
    %1 = array.slice %x [1, 0] to [100, 8] step [1, 1] : <f32[100, 8]> -> <f32[99, 8]>
    %2 = array.subtract %1, %0 : <f32[99, 8]>
    plan.return %2 : !spmd.array<f32[99, 8]>)"),
            (Bytes{3200, 0, 0, 0}));
}

// One row, whose number is read; two uses of it count one read.
TEST_F(KernelReadsOf, DynamicSlice) {
  EXPECT_EQ(count(R"(
    %c = array.constant dense<0> : tensor<i32> -> <i32[]>
    %0 = array.negate %x : <f32[100, 8]>
    %1 = array.multiply %0, %x : <f32[100, 8]>
    %2 = array.dynamic_slice %1 at(%t, %c) sizes [1, 8]
      : (!spmd.array<f32[100, 8]>, !spmd.array<i32[]>, !spmd.array<i32[]>) -> !spmd.array<f32[1, 8]>
    %3 = array.reshape %2 : <f32[1, 8]> -> <f32[8]>
    %4 = array.add %3, %v : <f32[8]>
    plan.return %4 : !spmd.array<f32[8]>)"),
            (Bytes{32, 32, 4, 0}));
}

// 3 rows and their 3 numbers.
TEST_F(KernelReadsOf, Take) {
  EXPECT_EQ(count(R"(
    %0 = array.take %x, %ids dim 0 : <f32[100, 8]>, <i32[3]> -> <f32[3, 8]>
    %1 = array.exp %0 : <f32[3, 8]>
    plan.return %1 : !spmd.array<f32[3, 8]>)"),
            (Bytes{96, 0, 0, 12}));
}

// A device's shard of 25 rows, all of which the sums of the rows need.
TEST_F(KernelReadsOf, AllSliceThatIsReduced) {
  EXPECT_EQ(count(R"(
    %0 = spmd.all_slice %x dim 0 over <a> : <f32[100, 8]> -> <f32[25, 8]>
    %1 = array.reduce sum %0 dims [1] : <f32[25, 8]> -> <f32[25]>
    plan.return %1 : !spmd.array<f32[25]>)"),
            (Bytes{800, 0, 0, 0}));
}

// The sums of 5 rows need 5 rows.
TEST_F(KernelReadsOf, SliceOfSums) {
  EXPECT_EQ(count(R"(
    %0 = array.reduce sum %x dims [1] : <f32[100, 8]> -> <f32[100]>
    %1 = array.slice %0 [0] to [5] step [1] : <f32[100]> -> <f32[5]>
    plan.return %1 : !spmd.array<f32[5]>)"),
            (Bytes{160, 0, 0, 0}));
}

// Products of 100 x 8 by 8 x 100, and of 100 x 100 by 100 x 8, two FLOP for each element of the sums.
TEST_F(KernelReadsOf, ProductsOfProducts) {
  OwningOpRef<ModuleOp> module = parse(R"(
    %0 = array.dot_general %x, %x contract [1] x [1] batch [] x [] : <f32[100, 8]>, <f32[100, 8]> -> <f32[100, 100]>
    %1 = array.dot_general %0, %x contract [1] x [0] batch [] x [] : <f32[100, 100]>, <f32[100, 8]> -> <f32[100, 8]>
    plan.return %1 : !spmd.array<f32[100, 8]>)");
  ASSERT_TRUE(module);
  plan::KernelOp kernel = *module->getOps<plan::KernelOp>().begin();
  EXPECT_EQ(countProductFlops(kernel), 2 * 100 * 100 * 8 * 2);
  EXPECT_EQ(countReadBytes(kernel), (Bytes{3200, 0, 0, 0}));
}

// The two halves of each row of a slice, exchanged: 4 rows of 16 bytes, twice. The pad reads only elements of the
// array.
TEST_F(KernelReadsOf, ConcatenateAndPad) {
  EXPECT_EQ(count(R"(
    %0 = array.slice %x [0, 4] to [4, 8] step [1, 1] : <f32[100, 8]> -> <f32[4, 4]>
    %1 = array.slice %x [0, 0] to [4, 4] step [1, 1] : <f32[100, 8]> -> <f32[4, 4]>
    %2 = array.concatenate %0, %1 dim 1 : !spmd.array<f32[4, 4]>, !spmd.array<f32[4, 4]> -> <f32[4, 8]>
    %c = array.constant dense<0.0> : tensor<f32> -> <f32[]>
    %3 = array.pad %v with %c low [24] high [0] interior [0] : <f32[8]>, <f32[]> -> <f32[32]>
    %4 = array.reshape %3 : <f32[32]> -> <f32[4, 8]>
    %5 = array.add %2, %4 : <f32[4, 8]>
    plan.return %5 : !spmd.array<f32[4, 8]>)"),
            (Bytes{128, 32, 0, 0}));
}

} // namespace
} // namespace spmdc
