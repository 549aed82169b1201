//===- InterleavedTest.cpp - collectives that end in another order --------===//

#include "runtime/exec/Executor.h"

#include "JobHelper.h"
#include "PlanHelper.h"
#include "runtime/support/Error.h"

#include <gtest/gtest.h>
#include <random>

using namespace spmd;
using namespace spmd::test;

namespace {

constexpr int collectiveCount = 12;
constexpr size_t mostInFlight = 6;

/// Sums of the parameter over some axes of the mesh, started one after another and ended in any order.
std::shared_ptr<Artifact> interleavedProgram(std::mt19937_64 &random, int64_t size,
                                             std::vector<std::vector<AxisRef>> &axesOf) {
  PlanBuilder builder({{{"a", 2}, {"b", 2}, {"c", 2}}});
  BufferId x = builder.parameter(DType::F32, {size});
  std::vector<Step> ends;
  auto endOne = [&] {
    size_t which = random() % ends.size();
    builder.add(ends[which]);
    ends.erase(ends.begin() + static_cast<int64_t>(which));
  };
  for (int i = 0; i < collectiveCount; ++i) {
    std::vector<AxisRef> axes;
    for (const char *name : {"a", "b", "c"})
      if (random() % 2)
        axes.push_back({name});
    if (axes.empty())
      axes = {{"b"}};
    std::vector<Step> steps =
        builder.collective(builder.sumOver(axes, DType::F32, {size}), x, builder.result(DType::F32, {size}));
    axesOf.push_back(std::move(axes));
    builder.add(steps[0]);
    ends.push_back(steps[1]);
    while (ends.size() == mostInFlight || (!ends.empty() && random() % 3 == 0))
      endOne();
  }
  while (!ends.empty())
    endOne();
  return builder.finish();
}

/// Returns the sum over a group of 2^position of its devices.
float expectedSum(const std::vector<AxisRef> &axes, int64_t position) {
  int64_t moving = 0;
  for (const AxisRef &axis : axes)
    moving |= axis.name == "a" ? 4 : axis.name == "b" ? 2 : 1;
  float sum = 0;
  for (int64_t other = 0; other < 8; ++other)
    if (((other ^ position) & ~moving) == 0)
      sum += static_cast<float>(1 << other);
  return sum;
}

// Some groups are within a host, where a device waits for its peers itself; others span hosts, where calls run in the
// order of their starts. No two devices may wait for each other.
TEST(Interleaved, CollectivesEndInAnyOrderOnAnyHosts) {
  for (uint64_t seed = 0; seed < 10; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937_64 random(seed);
    std::vector<std::vector<AxisRef>> axesOf;
    auto artifact = interleavedProgram(random, seed % 2 ? 5 : 20'000, axesOf);
    Layout layout{4, 2};
    for (int process = 0; process < 4; ++process)
      layout.hosts.push_back(static_cast<int>(random() % 3));
    layout.timeouts.collective = std::chrono::seconds(20);
    auto outcomes = runProcesses(layout, [&](ProcessContext &context) {
      ExecutorOptions options;
      options.devices = {0, 1, 2, 3, 4, 5, 6, 7};
      options.localDevices = context.devices;
      options.collectives = context.collectives;
      options.health = context.health;
      auto executor = Executor::create(artifact, options);
      int64_t size = artifact->plan.params[0].localShape[0];
      std::vector<std::vector<DeviceBufferRef>> arguments, results;
      for (auto &device : executor->getLocalDevices()) {
        arguments.push_back({upload(*device, std::vector<float>(size, static_cast<float>(1 << device->getId())))});
        results.emplace_back();
        for (int i = 0; i < collectiveCount; ++i)
          results.back().push_back(device->allocate(size * 4));
      }
      for (int run = 0; run < 20; ++run)
        executor->run(arguments, results);
      for (size_t local = 0; local < results.size(); ++local) {
        auto &device = executor->getLocalDevices()[local];
        for (size_t i = 0; i < collectiveCount; ++i)
          if (download<float>(*device, results[local][i]) !=
              std::vector<float>(size, expectedSum(axesOf[i], device->getId())))
            throw Error("wrong sum of collective " + std::to_string(i) + " on " + device->str());
      }
      return std::vector<char>();
    });
    for (const Outcome &outcome : outcomes)
      ASSERT_EQ(outcome.error, "");
  }
}

} // namespace
