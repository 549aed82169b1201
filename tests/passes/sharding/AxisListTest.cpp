//===- AxisListTest.cpp - arithmetic of axes and sub-axes -----------------===//

#include "passes/sharding/AxisList.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace spmdc {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

// Axis 0 has size 12, seen here as 2 x 2 x 3; axis 1 has size 4.
constexpr AxisPart kFullAxis{0, 1, 12}, kMajor2{0, 1, 2}, kMiddle2{0, 2, 2}, kMinor3{0, 4, 3}, kMajor4{0, 1, 4};
constexpr AxisPart kMinor6{0, 2, 6}, kMajor3{0, 1, 3}, kOther{1, 1, 4};

TEST(AxisListTest, PartsWithoutCommonDigitsDoNotConflict) {
  EXPECT_FALSE(kMajor2.conflictsWith(kMiddle2));
  EXPECT_FALSE(kMiddle2.conflictsWith(kMinor3));
  EXPECT_FALSE(kMajor2.conflictsWith(kMinor3));
  EXPECT_FALSE(kFullAxis.conflictsWith(kOther));
}

TEST(AxisListTest, PartsWithCommonDigitsConflict) {
  EXPECT_TRUE(kFullAxis.conflictsWith(kMiddle2));
  EXPECT_TRUE(kMajor4.conflictsWith(kMinor6));
  EXPECT_TRUE(kMinor6.conflictsWith(kMajor4));
  EXPECT_TRUE(kMajor2.conflictsWith(kMajor2));
}

TEST(AxisListTest, PartsOfDifferentSplittingsConflict) {
  // 12 = 3 x 4 and 12 = 2 x 6 have no common splitting in which both a:(1)3 and a:(2)2 are digits.
  EXPECT_TRUE(kMajor3.conflictsWith(AxisPart{0, 2, 2}));
  // a:(1)2 and a:(3)4 share no digits, but 3 is not a multiple of 2.
  EXPECT_TRUE(kMajor2.conflictsWith(AxisPart{0, 3, 4}));
}

TEST(AxisListTest, AnAxisOfSizeOneConflictsWithItself) {
  AxisPart one{2, 1, 1};
  EXPECT_TRUE(one.conflictsWith(one));
}

TEST(AxisListTest, PrefixWithoutKeepsTheDigitsAbove) {
  EXPECT_EQ(kFullAxis.prefixWithout(kMinor3), kMajor4);
  EXPECT_EQ(kFullAxis.prefixWithout(kMiddle2), kMajor2);
  EXPECT_EQ(kFullAxis.prefixWithout(kMajor2), std::nullopt);
  EXPECT_EQ(kFullAxis.prefixWithout(kOther), kFullAxis);
  EXPECT_EQ(kMinor6.prefixWithout(kMinor3), kMiddle2);
  EXPECT_EQ(kMinor6.prefixWithout(kMajor4), std::nullopt);
  EXPECT_EQ(kFullAxis.prefixWithout({kMinor3, kMiddle2}), kMajor2);
}

TEST(AxisListTest, AppendMergesPartsThatFollowOneAnother) {
  AxisList axes;
  appendMerged(axes, kMajor2);
  appendMerged(axes, kMiddle2);
  appendMerged(axes, kMinor3);
  EXPECT_THAT(axes, ElementsAre(kFullAxis));
  appendMerged(axes, kOther);
  EXPECT_THAT(axes, ElementsAre(kFullAxis, kOther));
  EXPECT_EQ(totalSize(axes), 48);
}

TEST(AxisListTest, AppendKeepsPartsInAnotherOrderApart) {
  AxisList axes;
  appendMerged(axes, kMiddle2);
  appendMerged(axes, kMajor2);
  EXPECT_THAT(axes, ElementsAre(kMiddle2, kMajor2));
}

TEST(AxisListTest, Prefixes) {
  EXPECT_TRUE(isPrefix({}, {kOther}));
  EXPECT_TRUE(isPrefix({kMajor2}, {kFullAxis, kOther}));
  EXPECT_TRUE(isPrefix({kFullAxis}, {kFullAxis, kOther}));
  EXPECT_FALSE(isPrefix({kMajor2, kOther}, {kFullAxis, kOther}));
  EXPECT_FALSE(isPrefix({kOther}, {kFullAxis, kOther}));
  EXPECT_FALSE(isPrefix({kFullAxis, kOther}, {kFullAxis}));
  EXPECT_TRUE(isStrictPrefix({kMajor2}, {kFullAxis}));
  EXPECT_FALSE(isStrictPrefix({kFullAxis}, {kFullAxis}));
}

TEST(AxisListTest, CommonPrefixStopsAtTheFirstDifference) {
  EXPECT_THAT(commonPrefix({kFullAxis, kOther}, {kFullAxis}), ElementsAre(kFullAxis));
  EXPECT_THAT(commonPrefix({kMajor2, kOther}, {kFullAxis, kOther}), ElementsAre(kMajor2));
  EXPECT_THAT(commonPrefix({kOther, kFullAxis}, {kFullAxis, kOther}), IsEmpty());
  // Major parts of sizes 4 and 6 of 12 have a common major part of size 2.
  EXPECT_THAT(commonPrefix({kMajor4}, {AxisPart{0, 1, 6}}), ElementsAre(kMajor2));
}

TEST(AxisListTest, AttributesAreFoundInTheMeshAndComeBackInOneSpelling) {
  mlir::MLIRContext context;
  context.loadDialect<SpmdDialect>();
  MeshAxes mesh(MeshAttr::fromValue(&context, "m", {{{"a", 12}, {"b", 4}}}));
  auto part = [&](llvm::StringRef name, int64_t preSize, int64_t size) {
    return AxisRefAttr::get(&context, name, preSize, size);
  };
  EXPECT_EQ(mesh.find(AxisRefAttr::get(&context, "a")), kFullAxis);
  EXPECT_EQ(mesh.find(part("a", 2, 2)), kMiddle2);
  EXPECT_EQ(mesh.find(AxisRefAttr::get(&context, "c")), std::nullopt);
  EXPECT_EQ(mesh.find(part("a", 1, 5)), std::nullopt) << "5 does not divide 12";
  EXPECT_EQ(mesh.find(part("a", 2, 1)), std::nullopt) << "a part of size 1 is no part";
  EXPECT_EQ(mesh.getAttr(kMiddle2).str(), "a:(2)2");
  EXPECT_EQ(mesh.getAttr(mesh.find(part("a", 1, 12)).value()).str(), "a");
  EXPECT_EQ(mesh.str({kMajor2, kOther}), "(a:(1)2, b)");
  EXPECT_EQ(mesh.str({}), "_");
  EXPECT_EQ(mesh.names(), "'a', 'b'");
}

} // namespace
} // namespace spmdc
