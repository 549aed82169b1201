//===- ReshapedShardsTest.cpp - shards of reshaped arrays -----------------===//
//
// Compares with a loop over single devices and single elements.
//
//===----------------------------------------------------------------------===//

#include "runtime/sharding/ReshapedShards.h"
#include "runtime/sharding/ExchangedAxes.h"
#include "tests/runtime/sharding/RandomSharding.h"

#include <gtest/gtest.h>

#include <array>
#include <random>
#include <set>

using namespace spmd;
using test::mesh;
using test::randomSharding;
using test::withoutAxis;

namespace {

/// Returns an array with these factors, some of which are merged.
ShardedShape randomArray(std::mt19937_64 &random, const std::vector<int64_t> &factors) {
  ShardedShape array;
  for (int64_t factor : factors) {
    if (array.shape.empty() || random() % 2)
      array.shape.push_back(1);
    array.shape.back() *= factor;
  }
  array.sharding = randomSharding(random, array.shape.size());
  return array;
}

/// Returns the row-major indices of all elements that a device owns.
std::set<int64_t> indicesOf(const ShardedShape &array, int64_t device) {
  std::vector<int64_t> places{0};
  std::vector<ShardRange> ranges = ownedRanges(mesh, array.shape, array.sharding, device);
  for (size_t d = 0; d < ranges.size(); ++d) {
    std::vector<int64_t> longer;
    for (int64_t place : places)
      for (int64_t i = 0; i < ranges[d].size; ++i)
        longer.push_back(place * array.shape[d] + ranges[d].start + i);
    places = longer;
  }
  return {places.begin(), places.end()};
}

/// Whether, in groups over these axes, each device finds every element that it needs.
bool groupsSuffice(const ShardedShape &source, const ShardedShape &target, const std::vector<AxisRef> &axes) {
  for (int64_t device = 0; device < mesh.deviceCount(); ++device) {
    std::set<int64_t> held;
    for (int64_t member : groupOf(mesh, axes, device))
      held.merge(indicesOf(source, member));
    for (int64_t place : indicesOf(target, device))
      if (!held.contains(place))
        return false;
  }
  return true;
}

TEST(ReshapedShards, ExchangedAxesAreThoseAlongWhichDevicesSend) {
  std::mt19937_64 random(29);
  int minimal = 0;
  for (int i = 0; i < 500; ++i) {
    std::vector<int64_t> factors;
    for (uint64_t count = 1 + random() % 4; count > 0; --count)
      factors.push_back(std::array<int64_t, 6>{1, 2, 3, 4, 5, 7}[random() % 6]);
    ShardedShape source = randomArray(random, factors), target = randomArray(random, factors);
    std::vector<AxisRef> axes = exchangedAxes(mesh, source, target, {});
    ASSERT_TRUE(groupsSuffice(source, target, axes)) << i;
    bool doAllNeed = true;
    for (int64_t device = 0; device < mesh.deviceCount(); ++device)
      doAllNeed &= !indicesOf(target, device).empty();
    if (!doAllNeed)
      continue;
    ++minimal;
    for (size_t axis = 0; axis < axes.size(); ++axis)
      ASSERT_FALSE(groupsSuffice(source, target, withoutAxis(axes, axis))) << i << " " << axes[axis].str();
  }
  EXPECT_GT(minimal, 100);
}

TEST(ReshapedShards, MissingElementsAreThoseThatADeviceNeedsAndHasNot) {
  std::mt19937_64 random(17);
  for (int i = 0; i < 500; ++i) {
    std::vector<int64_t> factors;
    for (uint64_t count = 1 + random() % 4; count > 0; --count)
      factors.push_back(std::array<int64_t, 6>{1, 2, 3, 4, 5, 7}[random() % 6]);
    ShardedShape source = randomArray(random, factors), target = randomArray(random, factors);
    int64_t missing = 0, mostRuns = 0;
    for (int64_t device = 0; device < mesh.deviceCount(); ++device) {
      std::set<int64_t> has = indicesOf(source, device), needs = indicesOf(target, device);
      for (int64_t place : needs)
        missing += !has.contains(place);
      std::set<int64_t> inRuns;
      std::vector<ShardRun> runs = listRuns(mesh, source, 0, source.shape.size(), mesh.coordinates(device));
      for (const ShardRun &run : runs)
        for (int64_t k = 0; k < run.size; ++k)
          ASSERT_TRUE(inRuns.insert(run.start + k).second);
      ASSERT_EQ(inRuns, has) << "case " << i << " device " << device << " of " << source.sharding.str();
      mostRuns = std::max(mostRuns, static_cast<int64_t>(runs.size()));
    }
    ASSERT_LE(mostRuns, countRuns(mesh, source, 0, source.shape.size()));
    ASSERT_EQ(missingElements(mesh, source, target), static_cast<double>(missing))
        << "case " << i << ": " << ::testing::PrintToString(source.shape) << " " << source.sharding.str() << " to "
        << ::testing::PrintToString(target.shape) << " " << target.sharding.str();
  }
}

} // namespace
