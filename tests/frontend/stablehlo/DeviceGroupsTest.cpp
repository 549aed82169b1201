//===- DeviceGroupsTest.cpp - groups of devices as mesh axes --------------===//

#include "frontend/stablehlo/DeviceGroups.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include <numeric>
#include <random>
#include <set>

using namespace spmdc;
using namespace spmdc::stablehlo;
using ::testing::ElementsAre;

namespace {

using Axes = std::vector<std::string>;

/// The names of the axes and parts of axes.
std::optional<Axes> axesOf(const spmd::MeshShape &mesh, const std::vector<DeviceList> &groups) {
  std::optional<std::vector<spmd::AxisRef>> found = findGroupAxes(mesh, groups);
  if (!found)
    return std::nullopt;
  Axes names;
  for (const spmd::AxisRef &axis : *found)
    names.push_back(axis.str());
  return names;
}

spmd::MeshShape mesh(std::vector<int64_t> sizes) {
  spmd::MeshShape result;
  for (int64_t size : sizes)
    result.axes.push_back({std::string(1, static_cast<char>('a' + result.axes.size())), size});
  return result;
}

TEST(DeviceGroups, AxesOfTheSpecificationsExamples) {
  spmd::MeshShape m = mesh({4, 2});
  EXPECT_EQ(axesOf(m, {{0, 2, 4, 6}, {1, 3, 5, 7}}), (Axes{"a"}));
  EXPECT_EQ(axesOf(m, {{0, 1}, {2, 3}, {4, 5}, {6, 7}}), (Axes{"b"}));
  EXPECT_EQ(axesOf(m, {{0, 1, 2, 3, 4, 5, 6, 7}}), (Axes{"a", "b"}));
  EXPECT_EQ(axesOf(m, {{0, 2, 4, 6, 1, 3, 5, 7}}), (Axes{"b", "a"}));
  EXPECT_EQ(axesOf(m, {{0}, {1}, {2}, {3}, {4}, {5}, {6}, {7}}), (Axes{}));
}

TEST(DeviceGroups, OtherGroupsHaveNoAxes) {
  spmd::MeshShape m = mesh({4, 2});
  EXPECT_EQ(axesOf(m, {{0, 3}, {1, 2}, {4, 7}, {5, 6}}), std::nullopt);
  EXPECT_EQ(axesOf(m, {{0, 1, 2}, {3, 4, 5, 6, 7}}), std::nullopt);
  EXPECT_EQ(axesOf(m, {{0, 1}, {2, 3}}), std::nullopt); // Not all devices.
  EXPECT_EQ(axesOf(m, {{0, 0, 1, 2}, {3, 4, 5, 6}}), std::nullopt);
  EXPECT_EQ(axesOf(m, {{0, 8}, {1, 9}}), std::nullopt);
  EXPECT_EQ(axesOf(m, {{-1, 1}}), std::nullopt);
  EXPECT_EQ(axesOf(m, {}), std::nullopt);
  EXPECT_EQ(axesOf(m, {{6, 4, 2, 0}, {7, 5, 3, 1}}), std::nullopt); // Backwards.
}

TEST(DeviceGroups, PartsOfAxes) {
  spmd::MeshShape m = mesh({4, 2});
  EXPECT_EQ(axesOf(m, {{0, 2}, {4, 6}, {1, 3}, {5, 7}}), (Axes{"a:(2)2"}));
  EXPECT_EQ(axesOf(m, {{0, 4}, {1, 5}, {2, 6}, {3, 7}}), (Axes{"a:(1)2"}));
  EXPECT_EQ(axesOf(m, {{0, 1, 2, 3}, {4, 5, 6, 7}}), (Axes{"a:(2)2", "b"}));
  EXPECT_EQ(axesOf(m, {{0, 4, 2, 6}, {1, 5, 3, 7}}), (Axes{"a:(2)2", "a:(1)2"}));
  EXPECT_EQ(axesOf(mesh({6}), {{0, 2, 4}, {1, 3, 5}}), (Axes{"a:(1)3"}));
  EXPECT_EQ(axesOf(mesh({6}), {{0, 1, 2}, {3, 4, 5}}), (Axes{"a:(2)3"}));
  EXPECT_EQ(axesOf(mesh({6}), {{0, 1}, {2, 3}, {4, 5}}), (Axes{"a:(3)2"}));
  EXPECT_EQ(axesOf(mesh({3, 4}), {{0, 1, 2, 3, 4, 5}, {6, 7, 8, 9, 10, 11}}), std::nullopt); // Half of b, then of a.
}

/// Groups that are made from axes in any order are found again, whatever the order of the groups.
TEST(DeviceGroups, RandomAxesAreFoundAgain) {
  for (unsigned seed = 0; seed < 300; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937 random(seed);
    std::vector<int64_t> sizes(1 + random() % 4);
    for (int64_t &size : sizes)
      size = 2 + static_cast<int64_t>(random() % 3);
    spmd::MeshShape m = mesh(sizes);
    std::vector<size_t> order(sizes.size());
    std::iota(order.begin(), order.end(), 0);
    std::shuffle(order.begin(), order.end(), random);
    order.resize(random() % (sizes.size() + 1));
    Axes wanted;
    for (size_t axis : order)
      wanted.push_back(m.axes[axis].name);
    int64_t devices = std::accumulate(sizes.begin(), sizes.end(), int64_t(1), std::multiplies<>());
    std::map<std::vector<int64_t>, std::map<int64_t, int64_t>> groups; // Device by position, by the other coordinates.
    for (int64_t device = 0; device < devices; ++device) {
      std::vector<int64_t> coordinates(sizes.size());
      for (size_t axis = sizes.size(), rest = static_cast<size_t>(device); axis-- > 0;
           rest /= static_cast<size_t>(sizes[axis]))
        coordinates[axis] = static_cast<int64_t>(rest % static_cast<size_t>(sizes[axis]));
      int64_t position = 0;
      for (size_t axis : order) {
        position = position * sizes[axis] + coordinates[axis];
        coordinates[axis] = -1;
      }
      groups[coordinates][position] = device;
    }
    std::vector<std::vector<int64_t>> lists;
    for (const auto &[others, members] : groups) {
      lists.emplace_back();
      for (auto [position, device] : members)
        lists.back().push_back(device);
    }
    std::shuffle(lists.begin(), lists.end(), random);
    EXPECT_EQ(axesOf(m, lists), wanted);
  }
}

/// The same for parts of axes, by the definition of groups.
TEST(DeviceGroups, RandomPartsAreFoundAgain) {
  for (unsigned seed = 0; seed < 500; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937 random(seed);
    std::vector<int64_t> sizes;
    std::vector<spmd::AxisRef> parts;
    int64_t devices = 1;
    for (unsigned axes = 1 + random() % 3; axes > 0; --axes) {
      std::string name(1, static_cast<char>('a' + sizes.size()));
      int64_t before = 1;
      for (unsigned count = 1 + random() % 2; count > 0; --count) {
        int64_t size = 2 + static_cast<int64_t>(random() % 2);
        parts.push_back({name, before, size});
        before *= size;
      }
      sizes.push_back(before);
      devices *= before;
    }
    std::shuffle(parts.begin(), parts.end(), random);
    parts.resize(random() % (parts.size() + 1));
    spmd::MeshShape m = mesh(sizes);
    std::set<DeviceList> groups;
    for (int64_t device = 0; device < devices; ++device)
      groups.insert(spmd::groupOf(m, parts, device));
    std::vector<DeviceList> lists(groups.begin(), groups.end());
    std::shuffle(lists.begin(), lists.end(), random);
    auto found = findGroupAxes(m, lists);
    ASSERT_TRUE(found);
    for (int64_t device = 0; device < devices; ++device)
      EXPECT_EQ(spmd::groupOf(m, *found, device), spmd::groupOf(m, parts, device));
  }
}

TEST(DeviceGroups, OtherGroupsAreTablesAlongTheFewestAxes) {
  spmd::MeshShape m = mesh({4, 2});
  auto along = findAxisGroups(m, {{0, 6, 2}, {4}, {1, 7, 3}, {5}});
  ASSERT_TRUE(along);
  EXPECT_THAT(along->axes, ElementsAre("a"));
  EXPECT_THAT(along->groups, ElementsAre(DeviceList{0, 3, 1}, DeviceList{2}));
  // Other groups at the other coordinate along b.
  auto both = findAxisGroups(m, {{0, 6, 2}, {1, 7}});
  ASSERT_TRUE(both);
  EXPECT_THAT(both->axes, ElementsAre("a", "b"));
  EXPECT_THAT(both->groups, ElementsAre(DeviceList{0, 6, 2}, DeviceList{1, 7}));
  EXPECT_FALSE(findAxisGroups(m, {{0, 8}}));
  EXPECT_FALSE(findAxisGroups(m, {{0, 1}, {1, 2}}));
}

TEST(DeviceGroups, PairsAlongTheFewestAxes) {
  spmd::MeshShape m = mesh({4, 2});
  std::vector<std::pair<int64_t, int64_t>> ring;
  for (int64_t i = 0; i < 4; ++i)
    for (int64_t j = 0; j < 2; ++j)
      ring.emplace_back(2 * i + j, 2 * ((i + 1) % 4) + j);
  auto found = findPairAxes(m, ring);
  ASSERT_TRUE(found);
  EXPECT_THAT(found->axes, ElementsAre("a"));
  EXPECT_THAT(found->pairs, ElementsAre(0, 1, 1, 2, 2, 3, 3, 0));
  // Of one row alone: positions along both axes.
  auto one = findPairAxes(m, {{0, 2}});
  ASSERT_TRUE(one);
  EXPECT_THAT(one->axes, ElementsAre("a", "b"));
  EXPECT_THAT(one->pairs, ElementsAre(0, 2));
  EXPECT_FALSE(findPairAxes(m, {{0, 8}}));
}

} // namespace
