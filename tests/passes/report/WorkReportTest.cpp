//===- WorkReportTest.cpp - predicted work against numbers worked out by hand -===//

#include "passes/report/WorkReport.h"

#include <gtest/gtest.h>

namespace spmdc {
namespace {

TEST(WorkReport, CountsTripsAndBytes) {
  spmd::Plan plan;
  plan.buffers.resize(3);
  plan.buffers[0].shape = {8, 16};
  plan.buffers[1].shape = {16, 4};
  plan.buffers[2].shape = {8, 4};
  plan.kernels.resize(1);
  plan.kernels[0].symbol = "relu";
  spmd::MatmulStep product;
  product.rhs = 1;
  product.result = 2;
  product.m = 8;
  product.n = 4;
  product.k = 16;
  spmd::LaunchStep launch;
  launch.operands = {2, 2};
  spmd::ForStep inner, outer;
  inner.lower = 1;
  inner.upper = 4;
  inner.body = {{launch, {}}};
  outer.upper = 5;
  outer.body = {{inner, {}}};
  plan.steps = {{product, {"x.spmd", 3, 7}}, {outer, {}}};
  CostModel model;
  model.flopsPerSecond = 1e3;
  model.memoryPerSecond = 1e6;

  std::vector<WorkReport> work = reportWork(plan, {KernelWork{{128}, 4000}}, model);
  ASSERT_EQ(work.size(), 2u);
  EXPECT_EQ(work[0].kind, "matmul");
  EXPECT_EQ(work[0].location, "x.spmd:3:7");
  EXPECT_EQ(work[0].contractionFlops, 2 * 8 * 4 * 16);
  EXPECT_EQ(work[0].memoryBytes, 4 * (8 * 16 + 16 * 4 + 8 * 4));
  EXPECT_DOUBLE_EQ(work[0].predictedSeconds, 1.024);
  EXPECT_EQ(work[1].kind, "kernel");
  EXPECT_EQ(work[1].name, "relu");
  EXPECT_EQ(work[1].location, "");
  EXPECT_EQ(work[1].tripCount, 15);
  EXPECT_EQ(work[1].memoryBytes, 256);
  EXPECT_EQ(work[1].contractionFlops, 4000);
  EXPECT_DOUBLE_EQ(work[1].totalSeconds(), 15 * 4.0);
}

TEST(WorkReport, CountsTheArmThatTakesLonger) {
  spmd::Plan plan;
  plan.buffers.resize(2);
  plan.buffers[0].shape = {4};
  plan.buffers[1].shape = {8};
  plan.kernels.resize(1);
  auto launchOn = [](spmd::BufferId buffer) {
    spmd::LaunchStep launch;
    launch.operands = {buffer};
    return spmd::Step{launch, {}};
  };
  // A loop of three iterations over 4 numbers, and one over 8, in a conditional whose other branch is empty.
  spmd::ForStep loop;
  loop.upper = 3;
  loop.body = {launchOn(0)};
  spmd::IfStep inner, outer;
  inner.thenSteps = {launchOn(1)};
  inner.elseSteps = {{loop, {}}};
  outer.elseSteps = {{inner, {}}, launchOn(1)};
  plan.steps = {launchOn(0), {outer, {}}};

  std::vector<WorkReport> work = reportWork(plan, {KernelWork{}}, CostModel());
  ASSERT_EQ(work.size(), 4u);
  EXPECT_TRUE(work[0].isCounted);
  EXPECT_FALSE(work[1].isCounted);
  EXPECT_TRUE(work[2].isCounted);
  EXPECT_EQ(work[2].tripCount, 3);
  EXPECT_TRUE(work[3].isCounted);
}

/// A buffer of f32 in the arena.
spmd::BufferInfo arrayAt(int64_t offset, std::vector<int64_t> shape) {
  spmd::BufferInfo buffer;
  buffer.offset = offset;
  buffer.shape = std::move(shape);
  return buffer;
}

// A kernel that reads 3 rows of an input of 100 rows of 8.
TEST(WorkReport, CountsWhatKernelsRead) {
  spmd::Plan plan;
  plan.buffers = {arrayAt(0, {100, 8}), arrayAt(4096, {3}), arrayAt(8192, {3, 8})};
  plan.kernels.resize(1);
  spmd::LaunchStep launch;
  launch.operands = {0, 1, 2};
  plan.steps = {{launch, {}}};
  EXPECT_EQ(reportWork(plan, {KernelWork{{3 * 32, 12}}}, CostModel())[0].memoryBytes, 3 * 32 + 12 + 3 * 32);
}

// The epilogue of a product reads a bias in addition to the product's arrays; the product itself stays in cache.
TEST(WorkReport, CountsEpilogues) {
  spmd::Plan plan;
  plan.buffers = {arrayAt(0, {8, 16}), arrayAt(512, {16, 4}), arrayAt(768, {8, 4}), arrayAt(896, {4}),
                  arrayAt(768, {8, 4})};
  plan.kernels.resize(1);
  spmd::MatmulStep product;
  product.rhs = 1;
  product.result = 2;
  product.epilogueKernel = 0;
  product.epilogueOperands = {2, 3, 4};
  plan.steps = {{product, {}}};
  EXPECT_EQ(reportWork(plan, {KernelWork{{128, 16}}}, CostModel())[0].memoryBytes, 512 + 256 + 128 + 16);
}

// 2 rows of 32 bytes are read and written; a number is read for each dimension. Where the result is another array,
// 100 rows are read and written before.
TEST(WorkReport, CountsUpdatesInPlace) {
  spmd::Plan plan;
  plan.buffers = {arrayAt(0, {100, 8}), arrayAt(4096, {2, 8}), arrayAt(4160, {}), arrayAt(8192, {100, 8})};
  spmd::LibraryStep update;
  update.function = spmd::LibraryFunction::UpdateSlice;
  update.inputs = {0, 1, 2, 2};
  spmd::LibraryStep elsewhere = update;
  elsewhere.result = 3;
  plan.steps = {{update, {}}, {elsewhere, {}}};
  std::vector<WorkReport> work = reportWork(plan, {}, CostModel());
  EXPECT_EQ(work[0].memoryBytes, 2 * 64 + 2 * 4);
  EXPECT_EQ(work[1].memoryBytes, 2 * 64 + 2 * 4 + 2 * 3200);
}

// 5 rows are added to 100, or 200 rows to 100: at most the 100 rows are written.
TEST(WorkReport, CountsScatters) {
  spmd::Plan plan;
  plan.buffers = {arrayAt(0, {100, 8}), arrayAt(4096, {5}), arrayAt(8192, {5, 8}), arrayAt(4096, {200}),
                  arrayAt(8192, {200, 8})};
  spmd::LibraryStep few, many;
  few.inputs = {0, 1, 2};
  many.inputs = {0, 3, 4};
  plan.steps = {{few, {}}, {many, {}}};
  std::vector<WorkReport> work = reportWork(plan, {}, CostModel());
  EXPECT_EQ(work[0].memoryBytes, 20 + 2 * 160);
  EXPECT_EQ(work[1].memoryBytes, 800 + 6400 + 3200);
}

} // namespace
} // namespace spmdc
