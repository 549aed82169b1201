#include "runtime/artifact/WireBytes.h"
#include "runtime/artifact/MemoryUse.h"

#include <gtest/gtest.h>

#include <limits>

using namespace spmd;

namespace {

/// An all_gather over `i` of 4 devices, each of which sends three quarters of the result.
Step gather(int64_t elements) {
  CollectiveDesc desc;
  desc.kind = CollectiveKind::AllGather;
  desc.axes = {{"i"}};
  desc.operandShape = {elements / 4};
  desc.resultShape = {elements};
  desc.concatDim = 0;
  return {CollectiveStartStep{0, desc, 0, 1}, {}};
}

Plan planOf(std::vector<Step> steps) {
  Plan plan;
  plan.mesh.axes = {{"i", 4}};
  plan.steps = std::move(steps);
  return plan;
}

TEST(WireBytes, of_a_plan_are_those_of_its_collectives) {
  EXPECT_EQ(wireBytesPerDevice(planOf({})), 0);
  EXPECT_EQ(wireBytesPerDevice(planOf({gather(4), {CollectiveDoneStep{0}, {}}, gather(8)})), 12 + 24);
}

// Each of the three other devices receives the 20 bytes once: 60 bytes, a quarter of them for each of the 4 devices.
TEST(WireBytes, of_a_broadcast_are_the_mean_of_what_the_others_get) {
  CollectiveDesc desc;
  desc.kind = CollectiveKind::CollectiveBroadcast;
  desc.axes = {{"i"}};
  desc.operandShape = desc.resultShape = {5};
  EXPECT_EQ(wireBytesPerDevice(planOf({{CollectiveStartStep{0, desc, 0, 1, 2}, {}}})), 15);
}

// A `for` counts as often as it runs, possibly 0 times; a `while` once; of a branch the larger side.
TEST(WireBytes, of_loops_and_branches) {
  EXPECT_EQ(wireBytesPerDevice(planOf({{ForStep{2, 7, -1, {gather(4)}}, {}}})), 5 * 12);
  EXPECT_EQ(wireBytesPerDevice(planOf({{ForStep{7, 2, -1, {gather(4)}}, {}}})), 0);
  EXPECT_EQ(wireBytesPerDevice(planOf({{WhileStep{0, {gather(4)}, {gather(8)}}, {}}})), 12 + 24);
  EXPECT_EQ(wireBytesPerDevice(planOf({{IfStep{0, {gather(4)}, {gather(8)}}, {}}})), 24);
  EXPECT_EQ(wireBytesPerDevice(planOf({{ForStep{0, 3, -1, {{IfStep{0, {gather(8)}, {}}, {}}}}, {}}})), 3 * 24);
}

TEST(MemoryUse, is_all_that_a_device_holds) {
  Artifact artifact;
  artifact.plan.params = {{"x", DType::F32, {7}, {}, {2}}, {"y", DType::Bool, {5}, {}, {5}}};
  artifact.plan.results = {{"z", DType::F64, {}, {}, {}}};
  artifact.plan.arenaBytes = 100;
  artifact.constants = "abc";
  MemoryUse use = memoryUseOf(artifact);
  EXPECT_EQ(use.argumentBytes, 2 * 4 + 5);
  EXPECT_EQ(use.resultBytes, 8);
  EXPECT_EQ(use.peakBytes(), 13 + 8 + 100 + 3);
  artifact.plan.arenaBytes = std::numeric_limits<int64_t>::max();
  EXPECT_EQ(memoryUseOf(artifact).peakBytes(), std::numeric_limits<int64_t>::max());
}

} // namespace
