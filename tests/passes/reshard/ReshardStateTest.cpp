// Shardings over atoms: changes, comparisons and hashes, as a search uses them.

#include "passes/reshard/ReshardState.h"

#include <gtest/gtest.h>

namespace spmdc {
namespace {

using Atoms = llvm::ArrayRef<Atom>;

TEST(ReshardStateTest, DimensionsAndSumsAreWhatTheyWereMadeOf) {
  ReshardState state({{0, 2}, {}, {1}}, {4, 3});
  EXPECT_EQ(state.getRank(), 3u);
  EXPECT_EQ(state.getDim(0), Atoms({0, 2}));
  EXPECT_TRUE(state.getDim(1).empty());
  EXPECT_EQ(state.getDim(2), Atoms({1}));
  EXPECT_EQ(state.getUnreduced(), Atoms({3, 4}));
  EXPECT_TRUE(state.isUsed(3));
  EXPECT_FALSE(state.isUsed(5));
}

TEST(ReshardStateTest, AScalarHasSumsAlone) {
  ReshardState state({}, {1, 0});
  EXPECT_EQ(state.getRank(), 0u);
  EXPECT_EQ(state.getUnreduced(), Atoms({0, 1}));
}

TEST(ReshardStateTest, ChangesTouchOneDimension) {
  ReshardState state({{0}, {1, 2}}, {3});
  state.append(0, {4, 5});
  state.drop(1, 1);
  EXPECT_EQ(state, ReshardState({{0, 4, 5}, {1}}, {3}));
}

TEST(ReshardStateTest, SumsStayInOrder) {
  ReshardState state({{0}}, {5});
  state.addUnreduced({4, 1});
  EXPECT_EQ(state.getUnreduced(), Atoms({1, 4, 5}));
  state.removeUnreduced({1, 5});
  EXPECT_EQ(state, ReshardState({{0}}, {4}));
}

TEST(ReshardStateTest, SumsDoNotCountAmongDimensions) {
  EXPECT_TRUE(ReshardState({{0}, {}}, {1}).hasSameDims(ReshardState({{0}, {}}, {2})));
  EXPECT_FALSE(ReshardState({{0}, {}}, {}).hasSameDims(ReshardState({{}, {0}}, {})));
}

// Ties between paths go to the first in this order, which must be that of lists of lists.
TEST(ReshardStateTest, ComparesDimensionByDimension) {
  ReshardState first({{}, {3}}, {}), second({{0}, {}}, {}), third({{0}, {}}, {1}), fourth({{0, 1}, {}}, {}),
      fifth({{1}, {}}, {0});
  EXPECT_LT(first, second);
  EXPECT_LT(second, third);
  EXPECT_LT(third, fourth);
  EXPECT_LT(fourth, fifth);
}

} // namespace
} // namespace spmdc
