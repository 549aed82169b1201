//===- ShardingSearchTest.cpp - searches against all shardings ------------===//
//
// A program of three values is small enough to price every combination of their shardings.
//
//===----------------------------------------------------------------------===//

#include "passes/assign/ShardingSearch.h"
#include "passes/assign/ExactSolver.h"
#include "passes/assign/StartingChanges.h"
#include "tests/passes/reshard/Shardings.h"
#include "tests/passes/support/ParsedFunction.h"

#include <random>

using namespace mlir;

namespace spmdc {
namespace {

class ShardingSearchTest : public ParsedFunction {
protected:
  /// exp(x0 @ x1) @ x2, with three values whose shardings are variables.
  void parseChain() {
    parse("a=2, b=2", {"f32[64@a, 32@_]", "f32[32@_, 128@b]", "f32[128@a, 16@_]"},
          "%h = array.dot_general %x0, %x1 contract [1] x [0] batch [] x [] : <f32[64@a, 32@_]>, <f32[32@_, 128@b]> -> "
          "<f32[64@_, 128@_]>\n%e = array.exp %h : <f32[64@_, 128@_]>\n"
          "%y = array.dot_general %e, %x2 contract [1] x [0] batch [] x [] : <f32[64@_, 128@_]>, <f32[128@a, 16@_]> -> "
          "<f32[64@_, 16@_]>",
          "f32[64@_, 16@_]");
    model.link = {0, 1e9, 0};
    model.flopsPerSecond = 1e11;
    planner.emplace(mesh(), model);
  }
  ShardingAttr attr(const spmd::Sharding &sharding) { return ShardingAttr::fromValue(&context, sharding); }
  /// The change that gives these variables these shardings.
  ShardingChange changeOf(const std::vector<std::pair<unsigned, spmd::Sharding>> &shardings) {
    ShardingChange change;
    for (const auto &[variable, sharding] : shardings)
      change[variable] = attr(sharding);
    return change;
  }
  std::vector<spmd::Sharding> listAll() { return listShardings(2, {{"a"}, {"b"}}); }

  CostModel model;
  std::optional<ReshardPlanner> planner;
};

TEST_F(ShardingSearchTest, VariablesOfAFunction) {
  parseChain();
  ShardingGraph graph(function(), *planner);
  EXPECT_EQ(graph.getVariableCount(), 3u);
  EXPECT_FALSE(graph.getVariable(argument(0)));
  EXPECT_EQ(graph.getOps().size(), 4u); // The return, too.
  EXPECT_EQ(graph.getLargestShard(), 64 * 128 * 4);
  // Devices hold no more than now.
  unsigned exp = *graph.getVariable(get<ExpOp>());
  graph.apply(changeOf({{exp, {{{{"a"}}, {}}, {}}}}));
  EXPECT_TRUE(graph.mayHaveSharding(exp, attr({{{}, {{"b"}}}, {}})));
  EXPECT_FALSE(graph.mayHaveSharding(exp, attr({{{}, {}}, {}})));
  graph.setMaxHeldBytes(graph.getLargestShard());
  EXPECT_TRUE(graph.mayHaveSharding(exp, attr({{{}, {}}, {}})));
}

// A freed parameter is a variable, and an annotated value is none.
TEST_F(ShardingSearchTest, FreedAndFixedValues) {
  parseChain();
  get<ExpOp>()->setAttr(kAnnotatedAttrName, UnitAttr::get(&context));
  ShardingGraph graph(function(), *planner, {{argument(1)}, {argument(0), argument(2)}});
  EXPECT_FALSE(graph.getVariable(get<ExpOp>()));
  EXPECT_EQ(graph.getVariable(argument(1)), 0u);
  EXPECT_EQ(graph.getVariable(argument(0)), graph.getVariable(argument(2)));
}

// The price of a change is that of the operations that it touches; and the undoing change restores everything.
TEST_F(ShardingSearchTest, ChangesTouchTheirOperations) {
  parseChain();
  ShardingGraph graph(function(), *planner);
  std::vector<spmd::Sharding> shardings = listAll();
  std::mt19937 random(3);
  for (int round = 0; round < 200; ++round) {
    ShardingChange change;
    for (unsigned variable = 0; variable < 3; ++variable)
      if (random() % 2)
        change[variable] = attr(shardings[random() % shardings.size()]);
    auto priceTouched = [&] {
      Price sum;
      for (Operation *op : graph.getTouched(change))
        sum += graph.price(op);
      return sum;
    };
    ShardingChange state = graph.getState();
    Price before = graph.priceAll(), touchedBefore = priceTouched();
    ShardingChange undo = graph.apply(change);
    Price after = graph.priceAll(), touchedAfter = priceTouched();
    EXPECT_NEAR(after.linkBytes - before.linkBytes, touchedAfter.linkBytes - touchedBefore.linkBytes, 1e-6);
    EXPECT_NEAR(after.seconds - before.seconds, touchedAfter.seconds - touchedBefore.seconds, 1e-12);
    if (round % 2) {
      graph.apply(undo);
      for (auto &[variable, sharding] : state)
        EXPECT_EQ(graph.getSharding(variable), sharding);
    }
  }
}

TEST_F(ShardingSearchTest, SolverAndSearchAgainstAllShardings) {
  parseChain();
  double least = std::numeric_limits<double>::infinity();
  Price propagated;
  ShardingChange start;
  {
    ShardingGraph graph(function(), *planner);
    start = graph.getState();
    propagated = graph.priceAll();
    for (const spmd::Sharding &h : listAll())
      for (const spmd::Sharding &e : listAll())
        for (const spmd::Sharding &y : listAll()) {
          graph.apply(changeOf({{0, h}, {1, e}, {2, y}}));
          least = std::min(least, graph.priceAll().seconds);
        }
    graph.apply(start);
  }
  // Strategies of alike times may take this part longer.
  constexpr double kMost = 1 + Price::kAlike;
  {
    ShardingGraph graph(function(), *planner);
    ExactSolver solver(graph, *planner);
    ASSERT_TRUE(solver.build());
    ExactSolver::Outcome outcome = solver.solve(/*weight=*/1, /*mayHoldMore=*/true);
    EXPECT_LE(outcome.leastSeconds, least * (1 + 1e-9));
    EXPECT_GE(outcome.leastSeconds * kMost, least);
    graph.apply(outcome.shardings);
    EXPECT_LE(graph.priceAll().seconds, least * kMost);
    // With less memory the time is no less.
    EXPECT_GE(solver.solve(1, false).leastSeconds, outcome.leastSeconds * (1 - 1e-9));
    graph.apply(start);
  }
  {
    // Tables that are too small: still a lower bound.
    ShardingGraph graph(function(), *planner);
    ExactSolver solver(graph, *planner, /*maxEntries=*/16);
    ASSERT_TRUE(solver.build());
    EXPECT_LE(solver.solve(1, true).leastSeconds, least * (1 + 1e-9));
  }
  StrategyMemo trials;
  ShardingSearch search(function(), *planner, trials, /*effort=*/10000);
  search.run();
  Price found = search.getPrice();
  EXPECT_FALSE(propagated.isBetterThan(found));
  EXPECT_LE(found.seconds, least * kMost * kMost);
}

// Each change that is listed makes the operation send less, the one that sends least first.
TEST_F(ShardingSearchTest, StartingChangesSendLess) {
  parseChain();
  ShardingGraph graph(function(), *planner);
  StartingChanges starting(graph, planner->getMesh());
  unsigned listed = 0;
  for (Operation *op : graph.getOps()) {
    Price now = graph.price(op);
    double last = 0;
    std::vector<ShardingChange> changes = starting.list(op, std::numeric_limits<double>::infinity());
    EXPECT_LE(changes.size(), StartingChanges::kMaxStarts);
    for (const ShardingChange &change : changes) {
      ++listed;
      ShardingChange undo = graph.apply(change);
      double bytes = graph.price(op).linkBytes;
      EXPECT_LT(bytes, now.linkBytes);
      EXPECT_GE(bytes, last);
      last = bytes;
      graph.apply(undo);
    }
    // No work is left.
    EXPECT_TRUE(starting.list(op, graph.getWork() - 1).empty());
  }
  EXPECT_GT(listed, 0u);
}

TEST_F(ShardingSearchTest, PartsThatIterationsRead) {
  parse("a=2, b=2", {"f32[8@a, 4@_, 6@_]"},
        "%w = array.exp %x0 : <f32[8@a, 4@_, 6@_]>\narray.for 0 to 8 () {\n^bb0(%i: !spmd.array<i32[]>):\n"
        "%z = array.constant dense<0> : tensor<i32> -> <i32[]>\n"
        "%r = array.dynamic_slice %w at(%i, %z, %z) sizes [1, 4, 6] : (!spmd.array<f32[8@a, 4@_, 6@_]>, "
        "!spmd.array<i32[]>, !spmd.array<i32[]>, !spmd.array<i32[]>) -> !spmd.array<f32[1@_, 4@_, 6@_]>\n"
        "%e = array.exp %r : <f32[1@_, 4@_, 6@_]>\narray.yield\n} : () -> ()");
  planner.emplace(mesh(), model);
  ShardingGraph graph(function(), *planner);
  StartingChanges starting(graph, planner->getMesh());
  // One of the two other dimensions over a.
  std::vector<ShardingChange> changes = starting.listOtherDimChanges(get<DynamicSliceOp>());
  ASSERT_EQ(changes.size(), 2u);
  unsigned weights = *graph.getVariable(get<ExpOp>(0));
  EXPECT_TRUE(changes[0].lookup(weights).hasSameAxes(attr({{{}, {{"a"}}, {}}, {}})));
  EXPECT_TRUE(changes[1].lookup(weights).hasSameAxes(attr({{{}, {}, {{"a"}}}, {}})));
  // The array is no carry.
  EXPECT_FALSE(starting.findReplicatedChange(get<DynamicSliceOp>()));
  EXPECT_TRUE(starting.listOtherDimChanges(get<ExpOp>(1)).empty());
}

TEST_F(ShardingSearchTest, ShardingsThatFollow) {
  parseChain();
  ShardingGraph graph(function(), *planner);
  FollowedShardings followed(planner->getMesh());
  auto find = [&](Operation *op, unsigned self, const spmd::Sharding &sharding, unsigned other) {
    Value value = other < op->getNumOperands() ? op->getOperand(other) : op->getResult(0);
    ShardingAttr found = followed.find(*graph.getStrategies().find(op), self, attr(sharding), other, value);
    return found ? std::optional(found.toValue().dims) : std::nullopt;
  };
  using Dims = std::vector<AxisRefs>;
  const AxisRefs a = {{"a"}}, b = {{"b"}}, none;
  EXPECT_EQ(find(get<ExpOp>(), 0, {{a, b}, {}}, 1), (Dims{a, b}));
  // Rows of the operand are rows of the result; columns are contracted.
  Operation *dot = get<DotGeneralOp>(1);
  EXPECT_EQ(find(dot, 0, {{b, none}, {}}, 2), (Dims{b, none}));
  EXPECT_EQ(find(dot, 0, {{none, b}, {}}, 2), std::nullopt); // Partial sums.
  EXPECT_EQ(find(dot, 0, {{none, b}, {}}, 1), (Dims{b, none}));
  // A dimension that the first operand lacks keeps its axes if they are free.
  EXPECT_EQ(find(get<DotGeneralOp>(0), 0, {{a, none}, {}}, 1), (Dims{none, b}));
  EXPECT_EQ(find(get<DotGeneralOp>(0), 0, {{b, none}, {}}, 1), (Dims{none, none}));
}

} // namespace
} // namespace spmdc
