//===- FactorAxesTest.cpp - factors and dimensions have one meaning -------===//
//
// The second source is the definition: a device holds some points of an operation's iteration space, and a dimension of
// several factors numbers these points in row-major order.
//
//===----------------------------------------------------------------------===//

#include "passes/sharding/FactorAxes.h"

#include "tests/passes/reshard/Shardings.h"

#include <gtest/gtest.h>

namespace spmdc {
namespace {

const spmd::AxisRef a{"a"}, b{"b"};

/// A dimension that the factors of these sizes make, and a value with one dimension for each factor.
ShardingRule makeRule(std::vector<int64_t> sizes) {
  ShardingRule rule;
  ValueFactors merged(1), apart;
  for (int64_t size : sizes) {
    merged[0].push_back(rule.addFactor(size));
    apart.push_back({merged[0].back()});
  }
  rule.operands = {merged};
  rule.results = {apart};
  return rule;
}

struct Case {
  std::vector<int64_t> mesh, factors;
};

class FactorAxesCases : public ::testing::TestWithParam<Case> {
protected:
  FactorAxesCases() {
    for (int64_t size : GetParam().mesh)
      mesh.axes.push_back({std::string(1, static_cast<char>('a' + mesh.axes.size())), size});
    for (const spmd::MeshAxis &axis : mesh.axes)
      axes.push_back({axis.name});
    for (int64_t size : GetParam().factors)
      total *= size;
  }
  const std::vector<int64_t> &sizes() const { return GetParam().factors; }

  spmd::MeshShape mesh;
  std::vector<spmd::AxisRef> axes;
  int64_t total = 1;
};

// If the merged dimension has a sharding, every device holds the same elements of it as of the dimensions apart.
TEST_P(FactorAxesCases, MergedAndApartHoldTheSameElements) {
  ShardingRule rule = makeRule(sizes());
  size_t found = 0;
  for (const spmd::Sharding &apart : listShardings(sizes().size(), axes)) {
    std::optional<spmd::Sharding> same = shardingOf(mesh, rule, rule.results[0], apart.dims);
    ASSERT_TRUE(same);
    EXPECT_EQ(*same, apart);
    std::optional<spmd::Sharding> merged = shardingOf(mesh, rule, rule.operands[0], apart.dims);
    found += merged.has_value();
    if (!merged)
      continue;
    for (int64_t device = 0; device < mesh.deviceCount(); ++device)
      EXPECT_EQ(listOwned(mesh, sizes(), apart, device), listOwned(mesh, {total}, *merged, device)) << apart.str();
  }
  EXPECT_GT(found, 0u);
}

// The factors of a merged dimension's sharding are those of a sharding of the dimension again, and a device that holds
// elements holds all the elements that it needs for its part of the factors.
TEST_P(FactorAxesCases, FactorsOfAMergedDimension) {
  ShardingRule rule = makeRule(sizes());
  for (const spmd::Sharding &merged : listShardings(1, axes)) {
    FactorAxes factors = projectToFactors(mesh, rule, rule.operands[0], merged);
    std::optional<spmd::Sharding> back = shardingOf(mesh, rule, rule.operands[0], factors);
    ASSERT_TRUE(back) << merged.str();
    int64_t kept = 1, all = sizeOf(mesh, merged.dims[0]);
    for (const AxisRefs &list : factors)
      kept *= sizeOf(mesh, list);
    EXPECT_EQ(all % kept, 0);
    spmd::Sharding apart{factors, {}};
    for (int64_t device = 0; device < mesh.deviceCount(); ++device) {
      std::vector<int64_t> held = listOwned(mesh, {total}, merged, device),
                           needed = listOwned(mesh, sizes(), apart, device);
      if (kept == all)
        EXPECT_EQ(held, needed) << merged.str();
      else
        EXPECT_TRUE(std::includes(needed.begin(), needed.end(), held.begin(), held.end())) << merged.str();
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Reshapes, FactorAxesCases,
                         ::testing::Values(Case{{2, 2}, {2, 4}}, Case{{2, 2}, {4, 2}}, Case{{4, 2}, {2, 4}},
                                           Case{{8}, {2, 4}}, Case{{8}, {4, 4}}, Case{{2, 3}, {2, 3, 4}},
                                           Case{{6}, {2, 3, 4}}, Case{{6}, {3, 4}}, Case{{2, 2, 2}, {2, 2, 2}},
                                           Case{{4}, {1, 8}}, Case{{4}, {8, 1}}, Case{{4}, {1, 1}},
                                           Case{{1, 2}, {2, 2}}, Case{{4}, {7, 3}}, Case{{3, 2}, {7}}));

TEST(FactorAxes, FactorsThatNeedReplicationTakeNoAxes) {
  spmd::MeshShape mesh{{{"a", 2}}};
  for (FactorKind kind : {FactorKind::NeedReplication, FactorKind::Permutation}) {
    ShardingRule rule;
    rule.results = {{{rule.addFactor(8, kind)}}};
    EXPECT_TRUE(projectToFactors(mesh, rule, rule.results[0], {{{a}}, {}})[0].empty());
  }
  // The first factor stays full, so the second one cannot be sharded either.
  ShardingRule rule;
  rule.results = {{{rule.addFactor(2, FactorKind::NeedReplication), rule.addFactor(4)}}};
  for (const AxisRefs &axes : projectToFactors(mesh, rule, rule.results[0], {{{a}}, {}}))
    EXPECT_TRUE(axes.empty());
}

// Two parts of an axis can shard one array if the axis can be divided, major to minor, into parts that contain both.
TEST(FactorAxes, OverlapAgainstAllDivisionsOfAnAxis) {
  constexpr int64_t kSize = 24;
  // The divisions of the axis, as the preSize at which each part begins.
  std::vector<std::vector<int64_t>> divisions, open = {{1}};
  while (!open.empty()) {
    std::vector<int64_t> division = open.back();
    open.pop_back();
    if (division.back() == kSize)
      divisions.push_back(division);
    for (int64_t next = 2 * division.back(); next <= kSize; next += division.back())
      if (kSize % next == 0) {
        open.push_back(division);
        open.back().push_back(next);
      }
  }
  auto isIn = [](const std::vector<int64_t> &division, const spmd::AxisRef &part) {
    return std::count(division.begin(), division.end(), part.preSize) &&
           std::count(division.begin(), division.end(), part.preSize * part.size);
  };
  std::vector<spmd::AxisRef> parts;
  for (int64_t begin = 1; begin < kSize; ++begin)
    for (int64_t size = 2; kSize % begin == 0 && size * begin <= kSize; ++size)
      if (kSize % (begin * size) == 0 && size < kSize)
        parts.push_back({"a", begin, size});
  for (const spmd::AxisRef &x : parts)
    for (const spmd::AxisRef &y : parts) {
      bool areDisjoint = x.preSize * x.size <= y.preSize || y.preSize * y.size <= x.preSize;
      bool fit = areDisjoint && std::any_of(divisions.begin(), divisions.end(), [&](const std::vector<int64_t> &each) {
                   return isIn(each, x) && isIn(each, y);
                 });
      EXPECT_EQ(overlap({x}, {y}), !fit) << x.str() << " " << y.str();
    }
  EXPECT_TRUE(overlap({a}, {{"a", 1, 2}}));
  EXPECT_FALSE(overlap({a}, {b}));
  EXPECT_FALSE(overlap({}, {a}));
}

TEST(FactorAxes, OrderAndSizeOfAxes) {
  spmd::MeshShape mesh{{{"b", 4}, {"a", 3}, {"one", 1}}};
  AxisRefs axes = {a, {"b", 2, 2}, {"one"}, {"b", 1, 2}};
  EXPECT_EQ(sizeOf(mesh, axes), 3 * 2 * 1 * 2);
  EXPECT_EQ(sizeOf(mesh, {}), 1);
  sortAxes(mesh, axes);
  EXPECT_EQ(axes, (AxisRefs{{"b", 1, 2}, {"b", 2, 2}, a, {"one"}}));
}

} // namespace
} // namespace spmdc
