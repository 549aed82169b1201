//===- FactorAxesListsTest.cpp - assignments against other enumerations ---===//

#include "passes/strategy/FactorAxesLists.h"

#include "tests/passes/reshard/Shardings.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace spmdc {
namespace {

const spmd::AxisRef a{"a"}, b{"b"}, c{"c"};

/// A matrix product [m, k] x [k, n] -> [m, n].
ShardingRule makeProduct(int64_t m, int64_t n, int64_t k) {
  ShardingRule rule;
  int64_t i = rule.addFactor(m), j = rule.addFactor(n), l = rule.addFactor(k, FactorKind::Reduction);
  rule.operands = {{{i}, {l}}, {{l}, {j}}};
  rule.results = {{{i}, {j}}};
  return rule;
}

const spmd::Sharding kNone{{{}, {}}, {}};

/// Every assignment by the definition: each axis on at most one factor, in any order, no more shards than elements.
std::vector<FactorAxes> listByDefinition(const spmd::MeshShape &mesh, const ShardingRule &rule) {
  std::vector<spmd::AxisRef> axes;
  for (const spmd::MeshAxis &axis : mesh.axes)
    axes.push_back({axis.name});
  std::vector<FactorAxes> all;
  for (const spmd::Sharding &sharding : listShardings(rule.factors.size(), axes)) {
    bool isPossible = true;
    for (size_t f = 0; f < rule.factors.size(); ++f) {
      const AxisRefs &own = sharding.dims[f];
      isPossible &= own.empty() || (canShard(rule.factors[f]) && sizeOf(mesh, own) <= rule.factors[f].size);
    }
    if (isPossible)
      all.push_back(sharding.dims);
  }
  return all;
}

TEST(FactorAxesLists, AllAssignmentsOfAProduct) {
  for (std::vector<int64_t> sizes : std::vector<std::vector<int64_t>>{{2}, {2, 2}, {2, 3}, {2, 2, 2}})
    for (std::vector<int64_t> shape :
         std::vector<std::vector<int64_t>>{{64, 64, 64}, {2, 5, 8}, {1, 4, 6}, {1, 1, 1}}) {
      spmd::MeshShape mesh;
      for (int64_t size : sizes)
        mesh.axes.push_back({std::string(1, static_cast<char>('a' + mesh.axes.size())), size});
      ShardingRule rule = makeProduct(shape[0], shape[1], shape[2]);
      std::vector<FactorAxes> listed = listAllFactorAxes(mesh, rule, {kNone, kNone}, kNone);
      EXPECT_THAT(listed, ::testing::UnorderedElementsAreArray(listByDefinition(mesh, rule)));
    }
}

TEST(FactorAxesLists, FactorsThatCannotBeSharded) {
  spmd::MeshShape mesh{{{"a", 2}, {"b", 2}}};
  ShardingRule rule = makeProduct(8, 8, 8);
  rule.factors[0].kind = FactorKind::NeedReplication;
  rule.factors[1].kind = FactorKind::Permutation;
  EXPECT_THAT(listAllFactorAxes(mesh, rule, {kNone, kNone}, kNone),
              ::testing::UnorderedElementsAreArray(listByDefinition(mesh, rule)));
}

// A part of an axis in a sharding divides that axis: the parts are placed like axes of their own.
TEST(FactorAxesLists, PartsOfAnAxis) {
  spmd::MeshShape mesh{{{"a", 4}}}, ofParts{{{"a:(1)2", 2}, {"a:(2)2", 2}}};
  ShardingRule rule = makeProduct(64, 64, 64);
  spmd::Sharding half{{{{"a", 1, 2}}, {}}, {}};
  std::vector<FactorAxes> listed = listAllFactorAxes(mesh, rule, {half, kNone}, kNone);
  EXPECT_EQ(listed.size(), listByDefinition(ofParts, rule).size());
  EXPECT_THAT(listed, ::testing::Contains(FactorAxes{{{"a", 1, 2}}, {{"a", 2, 2}}, {}}));
  EXPECT_THAT(listed, ::testing::Contains(FactorAxes{{a}, {}, {}}));
}

// 3 factors or none for each axis: 4^n assignments for each of n! sequences. 4^6 is the limit, 4^7 beyond it.
TEST(FactorAxesLists, ManyAxes) {
  ShardingRule rule = makeProduct(1 << 20, 1 << 20, 1 << 20);
  auto count = [&](int axes) {
    spmd::MeshShape mesh;
    for (int i = 0; i < axes; ++i)
      mesh.axes.push_back({std::string(1, static_cast<char>('a' + i)), 2});
    return listAllFactorAxes(mesh, rule, {kNone, kNone}, kNone).size();
  };
  static_assert(kMaxFactorAxes == 1 << 12);
  EXPECT_EQ(count(5), 1u << 10); // 120 sequences are too many: only the mesh's own.
  EXPECT_EQ(count(6), 1u << 12);
  EXPECT_EQ(count(7), 0u);
  EXPECT_EQ(count(0), 1u);
}

// Every combination of the axes that some value has on a factor, or none, in which no axis is used twice.
TEST(FactorAxesLists, SuggestionsOfAProduct) {
  spmd::MeshShape mesh{{{"a", 2}, {"b", 2}, {"c", 2}}};
  ShardingRule rule = makeProduct(64, 64, 64);
  spmd::Sharding lhs{{{a}, {b}}, {}}, rhs{{{c}, {a}}, {}}, result{{{a, b}, {}}, {}};
  std::vector<std::vector<AxisRefs>> options = {{{a, b}, {a}, {}}, {{a}, {}}, {{b}, {c}, {}}};
  std::vector<FactorAxes> expected;
  for (const AxisRefs &i : options[0])
    for (const AxisRefs &j : options[1])
      for (const AxisRefs &k : options[2]) {
        AxisRefs used;
        for (const AxisRefs *list : {&i, &j, &k})
          used.insert(used.end(), list->begin(), list->end());
        sortAxes(mesh, used);
        if (std::adjacent_find(used.begin(), used.end()) == used.end())
          expected.push_back({i, j, k});
      }
  expected.push_back(FactorAxes(3)); // Once more, as the last.
  std::vector<FactorAxes> listed = listSuggestedFactorAxes(mesh, rule, {lhs, rhs}, result);
  EXPECT_EQ(listed, expected); // In this order: the result's first.
}

TEST(FactorAxesLists, NothingIsSuggested) {
  spmd::MeshShape mesh{{{"a", 2}}};
  for (const FactorAxes &axes : listSuggestedFactorAxes(mesh, makeProduct(4, 4, 4), {kNone, kNone}, kNone))
    EXPECT_EQ(axes, FactorAxes(3));
}

} // namespace
} // namespace spmdc
