//===- LaunchGroupTest.cpp - launches that run side by side ---------------===//

#include "runtime/exec/cpu/LaunchGroup.h"

#include "JobHelper.h"
#include "PlanHelper.h"
#include "runtime/device/cpu/CpuDevice.h"
#include "runtime/exec/Executor.h"

#include <gtest/gtest.h>
#include <numeric>

using namespace spmd;
using namespace spmd::test;

namespace {

LaunchStep launch(std::vector<BufferId> operands, int32_t outputs = 1) {
  LaunchStep step;
  step.operands = std::move(operands);
  step.outputs = outputs;
  return step;
}

/// Buffers 0 to 2: arguments; 3 and 4: results; 5 to 7: 64 bytes of the arena each, of which the last two overlap.
Plan makePlan() {
  Plan plan;
  auto add = [&](BufferInfo::Space space, int32_t index, int64_t offset) {
    BufferInfo info;
    info.space = space;
    info.index = index;
    info.offset = offset;
    info.dtype = DType::F32;
    info.shape = {16};
    plan.buffers.push_back(info);
  };
  for (int32_t i = 0; i < 3; ++i)
    add(BufferInfo::Space::Argument, i, 0);
  for (int32_t i = 0; i < 2; ++i)
    add(BufferInfo::Space::Result, i, 0);
  for (int64_t offset : {0, 64, 96})
    add(BufferInfo::Space::Arena, 0, offset);
  plan.aliases = {-1, -1, -1};
  return plan;
}

/// Whether both launches fit into one group.
bool areIndependent(const Plan &plan, const LaunchStep &first, const LaunchStep &second) {
  LaunchGroup group(plan);
  EXPECT_TRUE(group.add(first));
  return group.add(second);
}

TEST(LaunchGroup, HasNoDependencies) {
  Plan plan = makePlan();
  EXPECT_TRUE(areIndependent(plan, launch({0, 3}), launch({0, 4})));
  EXPECT_TRUE(areIndependent(plan, launch({0, 5}), launch({1, 6})));
  EXPECT_FALSE(areIndependent(plan, launch({0, 5}), launch({5, 3}))) << "reads what the first one writes";
  EXPECT_FALSE(areIndependent(plan, launch({5, 3}), launch({0, 5}))) << "writes what the first one reads";
  EXPECT_FALSE(areIndependent(plan, launch({0, 6}), launch({1, 7}))) << "writes to a part of the same memory";
  EXPECT_FALSE(areIndependent(plan, launch({0, 5, 3}, 2), launch({5, 4}))) << "reads the first of two outputs";
  EXPECT_FALSE(areIndependent(plan, launch({5}), launch({5, 3}))) << "reads what the first one changes in place";
}

// A result that may have the memory of an argument, because the caller donates it.
TEST(LaunchGroup, KnowsDonatedArguments) {
  Plan plan = makePlan();
  EXPECT_TRUE(areIndependent(plan, launch({0, 4}), launch({2, 3})));
  plan.aliases[2] = 1; // Result 1, buffer 4, may be argument 2.
  EXPECT_FALSE(areIndependent(plan, launch({0, 4}), launch({2, 3})));
  EXPECT_TRUE(areIndependent(plan, launch({2, 4}), launch({1, 3})));
}

TEST(LaunchGroup, IsLimited) {
  Plan plan = makePlan();
  LaunchGroup group(plan);
  int count = 0;
  while (count < 100'000 && group.add(launch({0, 1}, 0)))
    ++count;
  EXPECT_EQ(count, 512);
}

TEST(LaunchTasks, CoverEachLaunchOnce) {
  for (int threads : {2, 3, 16})
    for (const std::vector<LaunchExtent> &launches :
         std::vector<std::vector<LaunchExtent>>{{{1, 1}, {1, 1}},
                                                {{100, 1}, {1, 1}},
                                                {{0, 1}, {7, 3}, {5, 100}},
                                                {{30000, 1167}, {30000, 1167}, {1, 1}}}) {
      LaunchTasks group = LaunchTasks::of(launches, threads);
      std::vector<int64_t> done(launches.size(), 0);
      for (const LaunchTask &task : group.tasks) {
        EXPECT_EQ(task.begin, done[task.launch]);
        EXPECT_LT(task.begin, task.end);
        done[task.launch] = task.end;
      }
      for (size_t i = 0; i < launches.size(); ++i)
        EXPECT_EQ(done[i], launches[i].extent);
    }
}

TEST(LaunchTasks, OfLittleWorkAreForOneThread) {
  LaunchTasks little = LaunchTasks::of({{10, 100}, {20, 100}, {30, 100}}, 2);
  EXPECT_EQ(little.tasks.size(), 3u);
  EXPECT_GE(little.grain, 3);
  // A long launch is split although a short one has a task of its own.
  LaunchTasks much = LaunchTasks::of({{10, 100}, {8000, 100}}, 2);
  EXPECT_GE(much.tasks.size(), 8u);
  EXPECT_EQ(much.grain, 1);
}

// Two sums of each of many arguments: the first sums are independent of one another, the second ones read them.
TEST(LaunchGroup, RunsInOrderOfDependencies) {
  constexpr int count = 40, size = 500;
  PlanBuilder builder({{}});
  std::vector<float> ones(size, 1.0f);
  BufferId one = builder.constant(DType::F32, {size}, ones.data());
  std::vector<BufferId> x, t, y;
  for (int i = 0; i < count; ++i) {
    x.push_back(builder.parameter(DType::F32, {size}));
    t.push_back(builder.arena(DType::F32, {size}));
    y.push_back(builder.result(DType::F32, {size}));
  }
  for (int i = 0; i < count; ++i)
    builder.add(builder.launch("add_f32", {x[i], one, t[i]}, size, i % 3 ? 20 : 1000));
  for (int i = 0; i < count; ++i)
    builder.add(builder.launch("add_f32", {t[i], t[(i + 1) % count], y[i]}, size, 20));
  auto artifact = builder.finish();
  for (int threads : {1, 2, 4}) {
    std::vector<DeviceRef> devices = createCpuDevices({0}, {.hostDeviceCount = 1, .threadsPerDevice = threads});
    ExecutorOptions options;
    options.devices = {0};
    options.localDevices = devices;
    auto executor = Executor::create(artifact, options);
    std::vector<DeviceBufferRef> arguments, results;
    for (int i = 0; i < count; ++i) {
      std::vector<float> values(size);
      std::iota(values.begin(), values.end(), float(1000 * i));
      arguments.push_back(upload(*devices[0], values));
      results.push_back(devices[0]->allocate(size * 4));
    }
    for (int round = 0; round < 3; ++round) {
      executor->run({arguments}, {results});
      for (int i = 0; i < count; ++i) {
        std::vector<float> values = download<float>(*devices[0], results[static_cast<size_t>(i)]);
        for (int j = 0; j < size; ++j)
          ASSERT_EQ(values[static_cast<size_t>(j)], float(1000 * i + 1000 * ((i + 1) % count) + 2 * j + 2));
      }
    }
  }
}

} // namespace
