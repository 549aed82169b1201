//===- RangesTest.cpp - ranges, concatenations and their operands ---------===//

#include "passes/restructure/Concatenation.h"
#include "passes/restructure/OperandExpression.h"
#include "passes/restructure/RangeBuilder.h"

#include "tests/passes/support/ParsedFunction.h"

using namespace mlir;

namespace spmdc {
namespace {

class RangesTest : public ParsedFunction {
protected:
  std::optional<Concatenation> match() {
    return matchConcatenation(function().getBody().front().getTerminator()->getOperand(0));
  }
};

using Range = std::tuple<int64_t, int64_t, int64_t>;
std::optional<Range> asTuple(std::optional<DimRange> range) {
  return range ? std::optional(Range(range->dim, range->start, range->size)) : std::nullopt;
}

TEST_F(RangesTest, RangesOfSlices) {
  parse("a=2", {"f32[8, 6]"},
        "%0 = array.slice %x0 [2, 0] to [5, 6] step [1, 1] : <f32[8, 6]> -> <f32[3, 6]>\n"
        "%1 = array.slice %x0 [0, 0] to [8, 6] step [1, 1] : <f32[8, 6]> -> <f32[8, 6]>\n"
        "%2 = array.slice %x0 [1, 1] to [8, 6] step [1, 1] : <f32[8, 6]> -> <f32[7, 5]>\n"
        "%3 = array.slice %x0 [0, 0] to [8, 6] step [2, 1] : <f32[8, 6]> -> <f32[4, 6]>");
  EXPECT_EQ(asTuple(getDimRange(get<SliceOp>(0))), Range(0, 2, 3));
  EXPECT_EQ(getDimRange(get<SliceOp>(1)), std::nullopt); // In full size,
  EXPECT_EQ(getDimRange(get<SliceOp>(2)), std::nullopt); // of two dimensions,
  EXPECT_EQ(getDimRange(get<SliceOp>(3)), std::nullopt); // with a stride.
}

// The example of FactorRanges.h, f32[8, 96] as f32[8, 3, 32]: each of the three is a range of 32.
TEST_F(RangesTest, RangesThroughAReshape) {
  parse("a=2", {"f32[8, 96]"}, "%y = array.reshape %x0 : <f32[8, 96]> -> <f32[8, 3, 32]>", "f32[8, 3, 32]");
  ShardingRule rule = get<ReshapeOp>().getShardingRule();
  const ValueFactors &merged = rule.operands[0], &apart = rule.results[0];
  std::optional<int64_t> factor = findFactor(rule, apart[1]);
  ASSERT_TRUE(factor);
  EXPECT_EQ(findFactor(rule, merged[1]), factor);
  for (int64_t i = 0; i < 3; ++i) {
    std::optional<FactorRange> part = toFactorRange(rule, apart, *factor, {1, i, 1});
    ASSERT_TRUE(part);
    EXPECT_EQ(asTuple(toDimRange(rule, merged, *part)), Range(1, 32 * i, 32));
    std::optional<FactorRange> back = toFactorRange(rule, merged, *factor, {1, 32 * i, 32});
    ASSERT_TRUE(back);
    EXPECT_EQ(back->start, i);
    EXPECT_EQ(back->size, 1);
  }
  EXPECT_FALSE(toFactorRange(rule, merged, *factor, {1, 16, 32})); // Not in full steps.
  EXPECT_FALSE(toFactorRange(rule, merged, *factor, {1, 0, 40}));
  EXPECT_FALSE(findFactor(rule, apart[2])); // Minor in the operand.
}

TEST_F(RangesTest, OperationsThatTakeRanges) {
  parse("a=2", {"f32[8, 6]"},
        "%0 = array.exp %x0 : <f32[8, 6]>\n%1 = array.reverse %x0 dims [0] : <f32[8, 6]> -> <f32[8, 6]>\n"
        "%2 = array.sin %x0 {spmd.annotated} : <f32[8, 6]>");
  EXPECT_TRUE(canTakeRanges(get<ExpOp>()));
  EXPECT_FALSE(canTakeRanges(get<ReverseOp>()));
  get<ExpOp>()->setAttr(kAnnotatedAttrName, UnitAttr::get(&context));
  EXPECT_FALSE(canTakeRanges(get<ExpOp>()));
}

// exp(x)[2:5] is exp(x[2:5]): the same operation on a slice, which is built once for the same range.
TEST_F(RangesTest, ARangeIsComputedOnce) {
  parse("a=2", {"f32[8@_, 6@a]"},
        "%0 = array.exp %x0 : <f32[8@_, 6@a]>\n%y = array.slice %0 [2, 0] to [5, 6] step [1, 1] : <f32[8@_, 6@a]> -> "
        "<f32[3@_, 6@a]>",
        "f32[3@_, 6@a]");
  ReshardPlanner planner(mesh(), CostModel());
  RunCounts runs;
  RangeBuilder ranges(planner, runs);
  Value exp = get<ExpOp>();
  Operation *user = get<SliceOp>();
  ranges.start({exp.getDefiningOp()});
  Value part = ranges.take(exp, {0, 2, 3}, type("f32[3@_, 6@a]"), user);
  ASSERT_TRUE(part);
  ASSERT_TRUE(part.getDefiningOp<ExpOp>());
  auto slice = part.getDefiningOp()->getOperand(0).getDefiningOp<SliceOp>();
  ASSERT_TRUE(slice);
  EXPECT_EQ(slice.getOperand(), argument(0));
  EXPECT_EQ(asTuple(getDimRange(slice)), Range(0, 2, 3));
  EXPECT_EQ(ranges.getSources(), ArrayRef<Value>{argument(0)});
  EXPECT_EQ(ranges.take(exp, {0, 2, 3}, type("f32[3@_, 6@a]"), user), part);
  EXPECT_EQ(ranges.take(exp, {0, 0, 8}, type("f32[8@_, 6@a]"), user), exp); // In full size.
  EXPECT_TRUE(succeeded(module->verify()));
  // Nothing was sent before, so nothing can send less.
  EXPECT_FALSE(ranges.isBetterThan({user}));
  ranges.discard();
  EXPECT_TRUE(llvm::hasSingleElement(function().getOps<SliceOp>()));
  EXPECT_TRUE(ranges.getSources().empty());
}

TEST_F(RangesTest, ConcatenationsOfTheUser) {
  parse("a=2", {"f32[2, 6]", "f32[3, 6]"},
        "%y = array.concatenate %x0, %x1, %x0 dim 0 : !spmd.array<f32[2, 6]>, !spmd.array<f32[3, 6]>, "
        "!spmd.array<f32[2, 6]> -> <f32[7, 6]>",
        "f32[7, 6]");
  std::optional<Concatenation> found = match();
  ASSERT_TRUE(found);
  EXPECT_EQ(found->dim, 0);
  ASSERT_EQ(found->parts.size(), 3u);
  EXPECT_EQ(found->parts[1].value, argument(1));
  EXPECT_EQ(found->parts[1].start, 2);
  EXPECT_EQ(found->parts[2].start, 2 + 3);
  EXPECT_EQ(found->movers.size(), 1u);
  EXPECT_TRUE(found->adders.empty());
  get<ConcatenateOp>()->setAttr(kAnnotatedAttrName, UnitAttr::get(&context));
  EXPECT_FALSE(match());
}

// pad(x1, 2 in front) + pad(x0, 3 behind) has x0 in front of x1, whatever the order of the addends.
TEST_F(RangesTest, SumsOfPaddedArrays) {
  auto parseSum = [&](const std::string &value, int64_t low, int64_t high) {
    std::string end = " interior [0] : <f32[3]>, <f32[]> -> <f32[5]>\n";
    parse("a=2", {"f32[2]", "f32[3]"},
          "%z = array.constant dense<" + value + "> : tensor<f32> -> <f32[]>\n%p = array.pad %x1 with %z low [" +
              std::to_string(low) + "] high [" + std::to_string(high) + "]" + end +
              "%q = array.pad %x0 with %z low [0] high [3] interior [0] : <f32[2]>, <f32[]> -> <f32[5]>\n"
              "%y = array.add %p, %q : <f32[5]>",
          "f32[5]");
  };
  parseSum("0.0", 2, 0);
  std::optional<Concatenation> found = match();
  ASSERT_TRUE(found);
  ASSERT_EQ(found->parts.size(), 2u);
  EXPECT_EQ(found->parts[0].value, argument(0));
  EXPECT_EQ(found->parts[1].value, argument(1));
  EXPECT_EQ(found->parts[1].start, 2);
  EXPECT_EQ(found->movers.size(), 2u);
  EXPECT_EQ(found->adders.size(), 1u);
  parseSum("1.0", 2, 0);
  EXPECT_FALSE(match());
  parseSum("0.0", 1, 1); // The parts overlap.
  EXPECT_FALSE(match());
}

TEST_F(RangesTest, ExpressionsOfOperands) {
  parse("a=2", {"f32[4, 3]", "f32[4, 3]"},
        "%c = array.constant dense<2.0> : tensor<4x3xf32> -> <f32[4, 3]>\n"
        "%d = array.constant dense<3.0> : tensor<4x3xf32> -> <f32[4, 3]>\n"
        "%n = array.negate %x0 : <f32[4, 3]>\n%m = array.multiply %n, %c : <f32[4, 3]>\n"
        "%p = array.negate %x1 : <f32[4, 3]>\n%q = array.multiply %p, %c : <f32[4, 3]>\n"
        "%r = array.negate %x1 : <f32[4, 3]>\n%s = array.multiply %r, %d : <f32[4, 3]>\n"
        "%y = array.concatenate %m, %q, %s, %x0 dim 0 : !spmd.array<f32[4, 3]>, !spmd.array<f32[4, 3]>, "
        "!spmd.array<f32[4, 3]>, !spmd.array<f32[4, 3]> -> "
        "<f32[16, 3]>",
        "f32[16, 3]");
  auto join = get<ConcatenateOp>();
  auto of = [&](unsigned operand) {
    OperandExpression expression(join.getOperands()[operand], 0, join);
    EXPECT_TRUE(expression.match());
    return expression;
  };
  OperandExpression first = of(0), second = of(1), third = of(2), array = of(3);
  EXPECT_EQ(first.getSlots(), ArrayRef<Value>{argument(0)});
  EXPECT_TRUE(first.computes());
  EXPECT_FALSE(array.computes());
  EXPECT_TRUE(first.isSame(second)); // Of other slots.
  EXPECT_FALSE(first.isSame(third)); // With another factor.
  EXPECT_FALSE(first.isSame(array));
  EXPECT_FALSE(first.mayStop());
  EXPECT_GT(first.getCost(), array.getCost());
  OpBuilder builder(join);
  Value made = first.build(builder, type("f32[4, 3]"), {argument(1)});
  EXPECT_TRUE(made.getDefiningOp<MultiplyOp>());
  EXPECT_EQ(made.getDefiningOp()->getOperand(0).getDefiningOp()->getOperand(0), argument(1));
}

TEST_F(RangesTest, ExpressionsWithOtherUses) {
  parse("a=2", {"f32[4]", "i32[4]"},
        "%n = array.negate %x0 : <f32[4]>\n%e = array.exp %n : <f32[4]>\n"
        "%y = array.concatenate %n, %x0 dim 0 : !spmd.array<f32[4]>, !spmd.array<f32[4]> -> <f32[8]>",
        "f32[8]");
  auto join = get<ConcatenateOp>();
  EXPECT_FALSE(OperandExpression(join.getOperands()[0], 0, join).match());
  // An integer division may trap.
  parse("a=2", {"i32[4]"},
        "%d = array.divide %x0, %x0 : <i32[4]>\n%y = array.concatenate %d, %x0 dim 0 : !spmd.array<i32[4]>, "
        "!spmd.array<i32[4]> -> <i32[8]>",
        "i32[8]");
  join = get<ConcatenateOp>();
  OperandExpression division(join.getOperands()[0], 0, join);
  EXPECT_TRUE(division.match());
  EXPECT_TRUE(division.mayStop());
}

} // namespace
} // namespace spmdc
