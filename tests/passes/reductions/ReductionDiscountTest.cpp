//===- ReductionDiscountTest.cpp - what later reductions save -------------===//

#include "passes/reductions/ReductionDiscount.h"

#include "tests/passes/support/ParsedFunction.h"

using namespace mlir;

namespace spmdc {
namespace {

class ReductionDiscountTest : public ParsedFunction {
protected:
  static ReductionDiscount discountOfOp(Operation *op) {
    auto ruled = cast<ShardingRuleOpInterface>(op);
    return getReductionDiscount(ruled, ruled.getShardingRule());
  }
  ReductionDiscount discountOf(unsigned index = 0) { return discountOfOp(get<ReduceOp>(index)); }
};

const std::string kSum = "%s = array.reduce sum %x0 dims [1] : <f32[8, 16@a]> -> <f32[8]>\n";

TEST_F(ReductionDiscountTest, ASumAlone) {
  parse("a=4", {"f32[8, 16@a]"}, kSum + "%e = array.exp %s : <f32[8]>");
  EXPECT_EQ(discountOf().share, 1);
  EXPECT_EQ(discountOf().shareIfSharded, 1);
  EXPECT_TRUE(discountOf().sharers.empty());
  EXPECT_EQ(discountOf().of(type("f32[8@_] unreduced(a)"), {}), 1);
}

// Two of 8 elements are used, and a quarter is reduced; if the dimension is sharded, the slice cannot be first.
TEST_F(ReductionDiscountTest, ASliceLeavesFewerElements) {
  parse("a=4, b=2", {"f32[8, 16@a]"},
        kSum + "%l = array.slice %s [3] to [5] step [1] : <f32[8]> -> <f32[2]>\n%e = array.exp %l : <f32[2]>");
  ReductionDiscount discount = discountOf();
  EXPECT_EQ(discount.share, 2.0 / 8);
  EXPECT_EQ(discount.of(type("f32[8@_] unreduced(a)"), {}), 2.0 / 8);
  EXPECT_EQ(discount.of(type("f32[8@b] unreduced(a)"), {}), 1);
  // Also behind element-wise operations that are not linear.
  parse("a=4", {"f32[8, 16@a]"},
        kSum + "%e = array.exp %s : <f32[8]>\n%l = array.slice %e [3] to [5] step [1] : <f32[8]> -> <f32[2]>");
  EXPECT_EQ(discountOf().share, 2.0 / 8);
  // Both are used in full size.
  parse("a=4", {"f32[8, 16@a]"},
        kSum + "%y = array.exp %s : <f32[8]>\n%l = array.slice %s [3] to [5] step [1] : <f32[8]> -> <f32[2]>",
        "f32[8]");
  EXPECT_EQ(discountOf().share, 1);
}

TEST_F(ReductionDiscountTest, IterationsThatOnlyAdd) {
  parse("a=4", {"f32[8, 16@a]", "f32[8]"},
        "%y = array.for 0 to 5 (%x1) {\n^bb0(%i: !spmd.array<i32[]>, %c: !spmd.array<f32[8]>):\n" + kSum +
            "%n = array.add %c, %s : <f32[8]>\narray.yield %n : !spmd.array<f32[8]>\n} : (!spmd.array<f32[8]>) -> "
            "!spmd.array<f32[8]>",
        "f32[8]");
  EXPECT_DOUBLE_EQ(discountOf().share, 1.0 / 5);
  // Each iteration needs the sum so far.
  parse("a=4", {"f32[8, 16@a]", "f32[8]"},
        "%y = array.for 0 to 5 (%x1) {\n^bb0(%i: !spmd.array<i32[]>, %c: !spmd.array<f32[8]>):\n" + kSum +
            "%m = array.exp %c : <f32[8]>\n%n = array.add %m, %s : <f32[8]>\narray.yield %n : !spmd.array<f32[8]>\n} : "
            "(!spmd.array<f32[8]>) -> !spmd.array<f32[8]>",
        "f32[8]");
  EXPECT_EQ(discountOf().share, 1);
}

// Two products that are added: each pays half of one reduction, if both are over the same axes.
TEST_F(ReductionDiscountTest, SumsThatShareAReduction) {
  std::string dot = " contract [1] x [0] batch [] x [] : <f32[8, 16@a]>, <f32[16@a, 4]> -> <f32[8, 4]>\n";
  parse("a=4, b=2", {"f32[8, 16@a]", "f32[16@a, 4]"},
        "%s = array.dot_general %x0, %x1" + dot + "%t = array.dot_general %x0, %x1" + dot +
            "%n = array.add %s, %t : <f32[8, 4]>\n%e = array.exp %n : <f32[8, 4]>");
  ReductionDiscount discount = discountOfOp(get<DotGeneralOp>(0));
  ASSERT_EQ(discount.sharers.size(), 1u);
  EXPECT_EQ(discount.sharers[0].getOperation(), get<DotGeneralOp>(1));
  AxisRefs a = {{"a"}}, b = {{"b"}};
  EXPECT_EQ(discount.of(type("f32[8@_, 4@_] unreduced(a)"), {a}), 1.0 / 2);
  EXPECT_EQ(discount.of(type("f32[8@_, 4@_] unreduced(a)"), {b}), 1);
  EXPECT_EQ(discount.of(type("f32[8@_, 4@_] unreduced(a)"), {AxisRefs()}), 1);
}

// Only sums along a dimension leave partial sums: the results of other operations are not followed.
TEST_F(ReductionDiscountTest, OperationsWithoutPartialSums) {
  parse("a=4", {"f32[8, 16@a]"},
        "%d = array.negate %x0 : <f32[8, 16@a]>\n"
        "%m = array.reduce max %d dims [1] : <f32[8, 16@a]> -> <f32[8]>\n"
        "%l = array.slice %m [3] to [5] step [1] : <f32[8]> -> <f32[2]>");
  EXPECT_EQ(discountOfOp(get<NegateOp>()).share, 1);
  EXPECT_EQ(discountOf().share, 1);
}

// The search for the place of the reduction ends after some hundred operations.
TEST_F(ReductionDiscountTest, LongChains) {
  auto shareBehind = [&](int operations) {
    std::string body = kSum + "%v0 = array.negate %s : <f32[8]>\n";
    for (int i = 1; i <= operations; ++i)
      body += "%v" + std::to_string(i) + " = array.negate %v" + std::to_string(i - 1) + " : <f32[8]>\n";
    body += "%l = array.slice %v" + std::to_string(operations) + " [3] to [5] step [1] : <f32[8]> -> <f32[2]>";
    parse("a=4", {"f32[8, 16@a]"}, body);
    return discountOf().share;
  };
  EXPECT_EQ(shareBehind(200), 2.0 / 8);
  EXPECT_EQ(shareBehind(1000), 1);
}

TEST_F(ReductionDiscountTest, AxesOfPartialSums) {
  parse("a=4, b=2", {"f32[8@b, 16@a]", "f32[16@a, 8@b]"},
        "%0 = array.reduce sum %x0 dims [1] : <f32[8@b, 16@a]> -> <f32[8@_]>\n"
        "%1 = array.reduce sum %x0 dims [0, 1] : <f32[8@b, 16@a]> -> <f32[]>\n"
        "%2 = array.dot_general %x0, %x1 contract [1] x [0] batch [] x [] : <f32[8@b, 16@a]>, <f32[16@a, 8@b]> -> "
        "<f32[8@_, 8@_]>\n%3 = array.exp %x0 : <f32[8@b, 16@a]>");
  auto axesOf = [&](Operation *op) {
    auto ruled = cast<ShardingRuleOpInterface>(op);
    return findPartialAxes(mesh(), ruled, ruled.getShardingRule());
  };
  EXPECT_EQ(axesOf(get<ReduceOp>(0)), (AxisRefs{{"a"}}));
  EXPECT_EQ(axesOf(get<ReduceOp>(1)).size(), 2u);
  EXPECT_TRUE(axesOf(get<DotGeneralOp>()).empty()); // Rows and columns are both sharded over b.
  EXPECT_TRUE(axesOf(get<ExpOp>()).empty());
}

} // namespace
} // namespace spmdc
