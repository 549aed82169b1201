//===- FactorPropagationTest.cpp - extending axes along factors -----------===//
//
// Rules and shardings are given as values: the axes of a factor are letters, `ab` for [a, b] on a mesh of axes of size
// 2 named a, b, c, ...; each array has its own dimension per factor.
//
//===----------------------------------------------------------------------===//

#include "passes/propagate/FactorPropagation.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>

namespace spmdc {
namespace {

using ::testing::ElementsAre;

class FactorPropagationTest : public ::testing::Test {
protected:
  /// Adds an array. One entry per factor: nothing where the array lacks it, a trailing `!` for closed.
  void add(bool isOperand, std::vector<std::optional<std::string>> axes) {
    ValueFactors value;
    TensorSharding sharding;
    for (size_t factor = 0; factor < axes.size(); ++factor) {
      if (!axes[factor])
        continue;
      value.push_back({static_cast<int64_t>(factor)});
      TensorSharding::Dim &dim = sharding.dims.emplace_back();
      for (char letter : *axes[factor])
        if (letter == '!')
          dim.isClosed = true;
        else
          dim.axes.push_back({static_cast<unsigned>(letter - 'a'), 1, 2});
    }
    if (isOperand)
      rule.operands.push_back(value);
    else
      rule.results.push_back(value);
    shardings.push_back(sharding);
  }
  void operand(std::vector<std::optional<std::string>> axes) { add(true, axes); }
  void result(std::vector<std::optional<std::string>> axes) { add(false, axes); }

  bool propagate(PropagationStrategy strategy, Direction direction = Direction::Both) {
    llvm::SmallVector<const TensorSharding *> pointers;
    for (const TensorSharding &sharding : shardings)
      pointers.push_back(&sharding);
    projection.emplace(rule, pointers);
    return propagateFactors(*projection, OpKind(rule), [&](int64_t) { return direction; }, strategy);
  }

  std::vector<std::string> factors(unsigned tensor) {
    std::vector<std::string> result;
    for (size_t factor = 0; factor < rule.factors.size(); ++factor) {
      const FactorSharding *sharding = projection->getTensors()[tensor].getFactor(factor);
      std::string text = sharding ? "" : "-";
      for (size_t i = 0; sharding && i < sharding->axes.size(); ++i)
        text += static_cast<char>('a' + sharding->axes[i].axis);
      result.push_back(text);
    }
    return result;
  }

  ShardingRule rule;
  std::vector<TensorSharding> shardings;
  std::optional<ShardingProjection> projection;
};

/// "" : an open factor without axes; kNone: the array lacks the factor.
constexpr std::nullopt_t kNone = std::nullopt;

// The table of "Collect and propagate sharding axes" in Shardy's propagation document.
TEST_F(FactorPropagationTest, TheTableOfShardysDocument) {
  for (int i = 0; i < 3; ++i)
    rule.addFactor(64);
  operand({"a", "", "f"});
  operand({"ab", "cd", "g"});
  result({"", "ce", kNone});
  EXPECT_TRUE(propagate(PropagationStrategy::Basic));
  EXPECT_THAT(factors(0), ElementsAre("ab", "c", "f"));
  EXPECT_THAT(factors(1), ElementsAre("ab", "cd", "g"));
  EXPECT_THAT(factors(2), ElementsAre("ab", "ce", "-"));
}

TEST_F(FactorPropagationTest, ForwardLetsOnlyOperandsPassOn) {
  rule.addFactor(64);
  rule.addFactor(64);
  operand({"a", ""});
  result({"", "b"});
  EXPECT_TRUE(propagate(PropagationStrategy::Aggressive, Direction::Forward));
  EXPECT_THAT(factors(0), ElementsAre("a", ""));
  EXPECT_THAT(factors(1), ElementsAre("a", "b"));
}

TEST_F(FactorPropagationTest, BackwardLetsOnlyResultsPassOn) {
  rule.addFactor(64);
  rule.addFactor(64);
  operand({"a", ""});
  result({"", "b"});
  EXPECT_TRUE(propagate(PropagationStrategy::Aggressive, Direction::Backward));
  EXPECT_THAT(factors(0), ElementsAre("a", "b"));
  EXPECT_THAT(factors(1), ElementsAre("", "b"));
}

TEST_F(FactorPropagationTest, NoDirectionPropagatesNothing) {
  rule.addFactor(64);
  operand({"a"});
  result({""});
  EXPECT_FALSE(propagate(PropagationStrategy::Settle, Direction::None));
}

TEST_F(FactorPropagationTest, TheOtherSideStillContradictsForward) {
  rule.addFactor(64);
  operand({"ab"});
  operand({""});
  result({"ac"});
  EXPECT_TRUE(propagate(PropagationStrategy::Basic, Direction::Forward));
  EXPECT_THAT(factors(1), ElementsAre("a"));
}

TEST_F(FactorPropagationTest, FactorsThatNeedReplicationAreLeftAlone) {
  rule.addFactor(64, FactorKind::NeedReplication);
  operand({"a"});
  result({""});
  for (PropagationStrategy strategy :
       {PropagationStrategy::Basic, PropagationStrategy::Aggressive, PropagationStrategy::Settle})
    EXPECT_FALSE(propagate(strategy));
}

TEST_F(FactorPropagationTest, ReductionFactorsGoFromOperandToOperand) {
  rule.addFactor(8);
  rule.addFactor(8);
  rule.addFactor(16, FactorKind::Reduction);
  operand({"", kNone, "a"});
  operand({kNone, "", ""});
  result({"", "", kNone});
  EXPECT_TRUE(propagate(PropagationStrategy::Basic));
  EXPECT_THAT(factors(1), ElementsAre("-", "", "a"));
  EXPECT_THAT(factors(2), ElementsAre("", "", "-"));
}

// The result could have `a` on either dimension; the operand of 8 x 16 is larger than the one of 8 x 4.
TEST_F(FactorPropagationTest, AggressiveGivesAContestedAxisToTheLargestArraysFactor) {
  rule.addFactor(16);
  rule.addFactor(4);
  rule.addFactor(8, FactorKind::Reduction);
  operand({"a", kNone, ""});
  operand({kNone, "a", ""});
  result({"", "", kNone});
  EXPECT_FALSE(propagate(PropagationStrategy::Basic));
  EXPECT_TRUE(propagate(PropagationStrategy::Aggressive));
  EXPECT_THAT(factors(2), ElementsAre("a", "", "-"));
}

TEST_F(FactorPropagationTest, OfAContestedAxisListTheFreeMajorPartStays) {
  rule.addFactor(64);
  rule.addFactor(64);
  operand({"ab", "!"});
  operand({"!", "cb"});
  result({"", ""});
  EXPECT_TRUE(propagate(PropagationStrategy::Aggressive));
  EXPECT_THAT(factors(2), ElementsAre("ab", "c"));
}

TEST_F(FactorPropagationTest, SettleFollowsTheFirstOfEqualArrays) {
  rule.addFactor(64);
  operand({"a"});
  operand({"b"});
  result({""});
  EXPECT_FALSE(propagate(PropagationStrategy::Aggressive));
  EXPECT_TRUE(propagate(PropagationStrategy::Settle));
  EXPECT_THAT(factors(2), ElementsAre("a"));
}

TEST_F(FactorPropagationTest, SettleFollowsTheFinerOfEqualArrays) {
  rule.addFactor(64);
  operand({"a"});
  operand({"bc"});
  result({""});
  EXPECT_TRUE(propagate(PropagationStrategy::Settle));
  EXPECT_THAT(factors(2), ElementsAre("bc"));
}

TEST(OpKindTest, ReadOffTheRule) {
  auto kindOf = [](auto build) {
    ShardingRule rule;
    build(rule);
    return OpKind(rule);
  };
  OpKind elementwise(ShardingRule::elementwise({8, 4}, 2));
  EXPECT_TRUE(elementwise.isElementwise);
  EXPECT_TRUE(elementwise.isPassThrough);
  EXPECT_FALSE(elementwise.isBroadcast);

  OpKind transpose = kindOf([](ShardingRule &rule) {
    int64_t i = rule.addFactor(8), j = rule.addFactor(4);
    rule.operands.push_back({{i}, {j}});
    rule.results.push_back({{j}, {i}});
  });
  EXPECT_FALSE(transpose.isElementwise);
  EXPECT_TRUE(transpose.isPassThrough);

  OpKind reshape = kindOf([](ShardingRule &rule) {
    int64_t i = rule.addFactor(8), j = rule.addFactor(4);
    rule.operands.push_back({{i, j}});
    rule.results.push_back({{i}, {j}});
  });
  EXPECT_FALSE(reshape.isElementwise);
  EXPECT_TRUE(reshape.isPassThrough);

  OpKind broadcast = kindOf([](ShardingRule &rule) {
    int64_t i = rule.addFactor(8), j = rule.addFactor(4);
    rule.operands.push_back({{i}});
    rule.results.push_back({{i}, {j}});
  });
  EXPECT_TRUE(broadcast.isBroadcast);
  EXPECT_FALSE(broadcast.isPassThrough);

  OpKind product = kindOf([](ShardingRule &rule) {
    int64_t i = rule.addFactor(8), j = rule.addFactor(4), k = rule.addFactor(2, FactorKind::Reduction);
    rule.operands = {{{i}, {k}}, {{k}, {j}}};
    rule.results.push_back({{i}, {j}});
  });
  EXPECT_FALSE(product.isPassThrough);
  EXPECT_FALSE(product.isBroadcast);

  OpKind slice = kindOf([](ShardingRule &rule) {
    int64_t i = rule.addFactor(8);
    rule.operands.push_back({{i}, {rule.addFactor(4, FactorKind::NeedReplication)}});
    rule.results.push_back({{i}, {rule.addFactor(2, FactorKind::NeedReplication)}});
  });
  EXPECT_FALSE(slice.isPassThrough);

  OpKind constant = kindOf([](ShardingRule &rule) { rule.results.push_back({{rule.addFactor(8)}}); });
  EXPECT_FALSE(constant.isPassThrough);
  EXPECT_FALSE(constant.isBroadcast);
}

TEST(OpKindTest, EachStageLetsMoreThrough) {
  OpKind elementwise(ShardingRule::elementwise({8}, 1));
  Factor pass{8, FactorKind::PassThrough}, reduction{8, FactorKind::Reduction}, whole{8, FactorKind::NeedReplication};
  EXPECT_EQ(getDirection(elementwise, pass, {}, 0), Direction::Both);
  EXPECT_EQ(getDirection(elementwise, pass, {.hasSharedOperand = true}, 0), Direction::None);
  EXPECT_EQ(getDirection(elementwise, pass, {.hasSharedOperand = true}, 1), Direction::Both);
  // The sharding of a slice propagates to the larger array in a late stage.
  EXPECT_EQ(getDirection(elementwise, pass, {.shrinks = true}, 0), Direction::Forward);
  EXPECT_EQ(getDirection(elementwise, pass, {.hasSharedOperand = true, .shrinks = true}, 1), Direction::Forward);
  EXPECT_EQ(getDirection(elementwise, pass, {.shrinks = true}, 2), Direction::Both);

  OpKind other(ShardingRule{});
  EXPECT_EQ(getDirection(other, pass, {}, 1), Direction::None);
  EXPECT_EQ(getDirection(other, pass, {}, 2), Direction::Both);
  EXPECT_EQ(getDirection(other, reduction, {}, 2), Direction::None);
  EXPECT_EQ(getDirection(other, reduction, {}, 3), Direction::Both);
  EXPECT_EQ(getDirection(other, whole, {}, kNumPriorities - 1), Direction::None);

  OpKind broadcast = other;
  broadcast.isBroadcast = true;
  EXPECT_EQ(getDirection(broadcast, pass, {}, 1), Direction::None);
  EXPECT_EQ(getDirection(broadcast, pass, {}, 2), Direction::Backward);
  EXPECT_EQ(getDirection(broadcast, pass, {}, 3), Direction::Backward);
  EXPECT_EQ(getDirection(broadcast, pass, {}, 4), Direction::Both);
}

} // namespace
} // namespace spmdc
