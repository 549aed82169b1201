//===- StrategyTableTest.cpp - types of assignments -----------------------===//

#include "passes/strategy/StrategyTable.h"

#include "tests/passes/support/ParsedFunction.h"

using namespace mlir;

namespace spmdc {
namespace {

const spmd::AxisRef a{"a"}, b{"b"}, half{"a", 1, 2};
const spmd::Sharding kNone{{{}, {}}, {}};

class StrategyTableTest : public ParsedFunction {
protected:
  /// A table for the operation before the return.
  void build() {
    op = cast<ShardingRuleOpInterface>(*std::prev(function().getBody().front().end(), 2));
    shape = mesh();
    rule.emplace(op);
    time.emplace(shape, model, op, rule->rule);
    table.emplace(shape, op, *rule, *time);
  }
  /// The types of an assignment; nothing if it is not possible.
  std::optional<Strategy> assign(FactorAxes axes) {
    Strategy strategy;
    strategy.axes = std::move(axes);
    return table->tryAssign(strategy) ? std::optional(strategy) : std::nullopt;
  }

  CostModel model;
  spmd::MeshShape shape;
  ShardingRuleOpInterface op;
  std::optional<OperationRule> rule;
  std::optional<ComputeTime> time;
  std::optional<StrategyTable> table;
};

TEST_F(StrategyTableTest, ReductionFactorsMakePartialSums) {
  parse("a=4, b=2", {"bf16[8@_, 16@_]"}, "%0 = array.reduce sum %x0 dims [1] : <bf16[8@_, 16@_]> -> <bf16[8@_]>");
  build();
  ASSERT_EQ(rule->rule.factors.size(), 2u);
  size_t summed = rule->rule.factors[0].kind == FactorKind::Reduction ? 0 : 1;
  FactorAxes axes(2);
  axes[summed] = {b, a};
  Strategy strategy = *assign(axes);
  EXPECT_EQ(strategy.operands[0], type("bf16[8@_, 16@\"(b, a)\"]"));
  // Axes of partial sums have the mesh's order; partial sums of bf16 are f32.
  EXPECT_EQ(strategy.reduced, (AxisRefs{a, b}));
  EXPECT_EQ(strategy.result, type("f32[8@_] unreduced(a, b)"));
  axes[summed].clear();
  axes[1 - summed] = {a};
  EXPECT_EQ(assign(axes)->result, type("bf16[8@a]"));
}

TEST_F(StrategyTableTest, MaximaAreReducedByTheOperation) {
  parse("a=4", {"f32[8@_]"}, "%0 = array.reduce max %x0 dims [0] : <f32[8@_]> -> <f32[]>");
  build();
  Strategy strategy = *assign({{a}});
  EXPECT_EQ(strategy.reduced, AxisRefs{a});
  EXPECT_EQ(strategy.result, type("f32[]"));
}

// f32[6] as f32[3, 2]: the minor factor alone is no sharding of the operand, and is tried once only.
TEST_F(StrategyTableTest, AssignmentsThatNoShardingExpresses) {
  parse("a=2", {"f32[6@_]"}, "%0 = array.reshape %x0 : <f32[6@_]> -> <f32[3@_, 2@_]>");
  build();
  FactorAxes axes(rule->rule.factors.size());
  axes[rule->rule.results[0][1][0]] = {a};
  EXPECT_FALSE(assign(axes));
  StrategyEntry entry = table->of({axes}).front();
  EXPECT_FALSE(table->tryAssign(entry));
  EXPECT_EQ(entry.isPossible, false);
  EXPECT_FALSE(table->tryAssign(entry));
}

TEST_F(StrategyTableTest, OneListForAllShardings) {
  parse("a=4, b=2", {"f32[8@_, 16@_]"}, "%0 = array.exp %x0 : <f32[8@_, 16@_]>");
  build();
  const StrategyEntry *first = nullptr;
  size_t count = 0;
  table->visitAll({kNone}, kNone, [&](std::vector<StrategyEntry> &all) {
    first = all.data();
    count = all.size();
  });
  // Two factors or none for each axis, and both axes on one factor in another order.
  EXPECT_EQ(count, 3u * 3 + 2);
  table->visitAll({{{{a}, {}}, {}}}, kNone, [&](std::vector<StrategyEntry> &all) { EXPECT_EQ(all.data(), first); });
  // With a part of an axis there are three atoms: 3^3 assignments, and the other sequences on one factor. The cached
  // list does not change.
  table->visitAll({{{{half}, {}}, {}}}, kNone, [&](std::vector<StrategyEntry> &all) {
    EXPECT_NE(all.data(), first);
    EXPECT_GT(all.size(), count);
  });
  EXPECT_EQ(rule->options->size(), count);
}

TEST_F(StrategyTableTest, PartsOfAxesAreNotCached) {
  EXPECT_TRUE(canCacheFactorAxes({kNone, {{{a, b}, {}}, {}}}, kNone));
  EXPECT_TRUE(canCacheFactorAxes({}, {{}, {a}}));
  EXPECT_FALSE(canCacheFactorAxes({{{{}, {half}}, {}}}, kNone));
  EXPECT_FALSE(canCacheFactorAxes({}, {{{half}}, {}}));
  EXPECT_FALSE(canCacheFactorAxes({}, {{}, {half}}));
}

} // namespace
} // namespace spmdc
