//===- StrategyTest.cpp - the cheapest strategy of an operation -----------===//
//
// Prices of strategies are compared with those of all strategies that another enumeration finds, and, for single cases,
// with bytes worked out by hand. On the wire, a group of n devices with b bytes each sends 2 (n - 1) b for an
// all_reduce, (n - 1) n b for an all_gather of shards of b bytes, and (n - 1) / n * n b for a reduce_scatter.
//
//===----------------------------------------------------------------------===//

#include "passes/strategy/Strategy.h"

#include "passes/cost/RunCounts.h"
#include "passes/strategy/StrategyCache.h"
#include "tests/passes/reshard/Shardings.h"
#include "tests/passes/support/ParsedFunction.h"

using namespace mlir;

namespace spmdc {
namespace {

class StrategyTest : public ParsedFunction {
protected:
  /// Links of 1 byte a second without latency; computation is free unless a test says otherwise.
  StrategyTest() {
    model.link = {0, 1, 0};
    model.flopsPerSecond = model.memoryPerSecond = 1e30;
  }

  /// The matrix product of arrays of these types.
  DotGeneralOp parseProduct(const std::string &axes, const std::string &x, const std::string &w,
                            const std::string &result) {
    parse(axes, {x, w},
          "%0 = array.dot_general %x0, %x1 contract [1] x [0] batch [] x [] : <" + x + ">, <" + w + "> -> <" + result +
              ">");
    return get<DotGeneralOp>();
  }

  Strategy choose(ShardingRuleOpInterface op) {
    ReshardPlanner planner(mesh(), model);
    return chooseStrategy(planner, op);
  }

  /// The price of running the product with these axes on its rows, columns and contracted dimension.
  Price priceOf(ReshardPlanner &planner, DotGeneralOp op, const std::vector<AxisRefs> &axes) {
    auto typed = [&](Value value, std::vector<AxisRefs> dims, AxisRefs unreduced = {}) {
      return typeOf(value).withSharding(ShardingAttr::fromValue(&context, {std::move(dims), std::move(unreduced)}));
    };
    AxisRefs partial = axes[2];
    spmd::MeshShape shape = mesh();
    sortAxes(shape, partial);
    CollectiveCost cost = planner.plan(op.getLhs().getType(), typed(op.getLhs(), {axes[0], axes[2]})).cost +
                          planner.plan(op.getRhs().getType(), typed(op.getRhs(), {axes[2], axes[1]})).cost +
                          planner.plan(typed(op, {axes[0], axes[1]}, partial), op.getType()).cost;
    double flops = 2;
    std::vector<int64_t> sizes = {op.getType().getDimSize(0), op.getType().getDimSize(1),
                                  op.getLhs().getType().getDimSize(1)};
    for (size_t i = 0; i < 3; ++i)
      flops *= static_cast<double>(spmd::localDimSize(sizes[i], spmd::sizesOf(shape, axes[i])));
    return model.price(cost, shape.deviceCount(), flops / model.flopsPerSecond);
  }

  CostModel model;
};

TEST_F(StrategyTest, NothingToSend) {
  Strategy rows = choose(parseProduct("a=4", "f32[16@a, 8@_]", "f32[8@_, 4@_]", "f32[16@a, 4@_]"));
  EXPECT_EQ(rows.price.linkBytes, 0);
  EXPECT_EQ(rows.operands[0], type("f32[16@a, 8@_]"));
  EXPECT_EQ(rows.result, type("f32[16@a, 4@_]"));
  EXPECT_TRUE(rows.reduced.empty());
  // On one device, and over axes of size 1.
  EXPECT_EQ(choose(parseProduct("a=1", "f32[4@a, 8@_]", "f32[8@a, 4@_]", "f32[4@_, 4@a]")).price.linkBytes, 0);
}

// [m, k@a] x [k@a, n]: partial sums of m n elements are reduced, or the operands are gathered.
TEST_F(StrategyTest, PartialSumsOrGatheredOperands) {
  // 8 x 4 elements of 4 bytes: all_reduce among 4 devices.
  Strategy sums = choose(parseProduct("a=4", "f32[8@_, 64@a]", "f32[64@a, 4@_]", "f32[8@_, 4@_]"));
  EXPECT_EQ(sums.reduced, AxisRefs{{"a"}});
  EXPECT_EQ(sums.result, type("f32[8@_, 4@_] unreduced(a)"));
  EXPECT_EQ(sums.price.linkBytes, 2 * 3 * (8 * 4 * 4));
  // A wide result of few contracted elements: each of 4 devices receives 3/4 of both operands.
  Strategy gathered = choose(parseProduct("a=4", "f32[64@_, 4@a]", "f32[4@a, 64@_]", "f32[64@_, 64@_]"));
  EXPECT_TRUE(gathered.reduced.empty());
  EXPECT_EQ(gathered.price.linkBytes, 3 * (4 * (64 * 4) + 4 * (4 * 64)));
  // A sharded result is reduced and scattered, for half.
  Strategy scattered = choose(parseProduct("a=4", "f32[8@_, 64@a]", "f32[64@a, 4@_]", "f32[8@a, 4@_]"));
  EXPECT_EQ(scattered.result, type("f32[8@_, 4@_] unreduced(a)"));
  EXPECT_EQ(scattered.price.linkBytes, 3 * (8 * 4 * 4));
}

// [64@a, 16] x [16, 64] with a result in full size: devices gather the operand and repeat all products, or compute
// their rows and gather the result, which has 4 times the bytes. The times are in seconds.
constexpr double kGatherOperand = 3.0 * 64 * 16 * 4 / 4, kGatherResult = 3.0 * 64 * 64 * 4 / 4;
constexpr double kWork = 2.0 * 64 * 16 * 64;

TEST_F(StrategyTest, ComputationCounts) {
  DotGeneralOp op = parseProduct("a=4", "f32[64@a, 16@_]", "f32[16@_, 64@_]", "f32[64@_, 64@_]");
  // With this rate both take as long: gathering the result saves 3/4 of the products.
  double equal = 0.75 * kWork / (kGatherResult - kGatherOperand);
  model.flopsPerSecond = 0.9 * equal;
  Strategy ofSlow = choose(op);
  EXPECT_DOUBLE_EQ(ofSlow.price.seconds, kGatherResult + kWork / 4 / model.flopsPerSecond);
  EXPECT_EQ(ofSlow.price.linkBytes, 4 * kGatherResult);
  model.flopsPerSecond = 1.1 * equal;
  Strategy ofFast = choose(op);
  EXPECT_DOUBLE_EQ(ofFast.price.seconds, kGatherOperand + kWork / model.flopsPerSecond);
  EXPECT_EQ(ofFast.price.linkBytes, 4 * kGatherOperand);
}

// Times that differ by less than Price::kAlike: fewer bytes win.
TEST_F(StrategyTest, BytesDecideBetweenAlikeTimes) {
  DotGeneralOp op = parseProduct("a=4", "f32[64@a, 16@_]", "f32[16@_, 64@_]", "f32[64@_, 64@_]");
  for (double part : {0.99, 0.97}) {
    // kGatherResult + seconds / 4 = part * (kGatherOperand + seconds), for the seconds of all products.
    double seconds = (kGatherResult - part * kGatherOperand) / (part - 0.25);
    model.flopsPerSecond = kWork / seconds;
    EXPECT_EQ(choose(op).price.linkBytes, 4 * (part < 1 - Price::kAlike ? kGatherResult : kGatherOperand)) << part;
  }
}

TEST_F(StrategyTest, GoalOfBytes) {
  DotGeneralOp op = parseProduct("a=4", "f32[64@a, 16@_]", "f32[16@_, 64@_]", "f32[64@_, 64@_]");
  model.flopsPerSecond = 1;
  EXPECT_EQ(choose(op).price.linkBytes, 4 * kGatherResult);
  model.goal = Goal::Bytes;
  model = model.forGoal();
  EXPECT_EQ(choose(op).price.linkBytes, 4 * kGatherOperand);
}

struct ProductCase {
  std::string axes;
  std::vector<int64_t> shape; ///< m, k, n.
};

class EveryProduct : public StrategyTest, public ::testing::WithParamInterface<ProductCase> {};

// Among all assignments of axes that take about as long as the fastest, the chosen strategy sends least; for a sample
// of all shardings of operands and result. If a strategy by these shardings sends nothing, no others are tried
// (Strategy.h). Being alike is not transitive, so a strategy that is alike to the chosen one may send less.
TEST_P(EveryProduct, TheLeastBytesAmongTheFastest) {
  const std::vector<int64_t> &shape = GetParam().shape;
  auto array = [](int64_t rows, int64_t columns) {
    return "f32[" + std::to_string(rows) + "@_, " + std::to_string(columns) + "@_]";
  };
  DotGeneralOp op =
      parseProduct(GetParam().axes, array(shape[0], shape[1]), array(shape[1], shape[2]), array(shape[0], shape[2]));
  model.flopsPerSecond = 5;
  std::vector<spmd::AxisRef> axes;
  for (const spmd::MeshAxis &axis : mesh().axes)
    axes.push_back({axis.name});
  std::vector<spmd::Sharding> shardings = listShardings(2, axes), assignments = listShardings(3, axes);
  ReshardPlanner planner(mesh(), model);
  size_t next = 0;
  for (const spmd::Sharding &x : shardings)
    for (const spmd::Sharding &w : shardings) {
      for (auto [value, sharding] : {std::pair<Value, const spmd::Sharding &>(op.getLhs(), x),
                                     {op.getRhs(), w},
                                     {op.getResult(), shardings[next++ * 7 % shardings.size()]}})
        value.setType(typeOf(value).withSharding(ShardingAttr::fromValue(&context, sharding)));
      Price chosen = chooseStrategy(planner, op).price;
      if (chosen.linkBytes == 0)
        continue;
      SCOPED_TRACE(op.getLhs().getType().str() + " x " + op.getRhs().getType().str() + " -> " + op.getType().str());
      std::vector<Price> prices;
      for (const spmd::Sharding &each : assignments) {
        bool hasElements = true;
        for (auto [size, list] : llvm::zip_equal(std::vector<int64_t>{shape[0], shape[2], shape[1]}, each.dims))
          hasElements &= sizeOf(mesh(), list) <= size;
        if (hasElements)
          prices.push_back(priceOf(planner, op, each.dims));
      }
      double least =
          llvm::min_element(prices, [](const Price &x, const Price &y) { return x.seconds < y.seconds; })->seconds;
      EXPECT_LE(chosen.seconds, least * (1 + Price::kAlike));
      for (const Price &price : prices)
        if (price.seconds <= least * (1 + Price::kAlike))
          EXPECT_GE(price.linkBytes, chosen.linkBytes);
    }
}

INSTANTIATE_TEST_SUITE_P(Products, EveryProduct,
                         ::testing::Values(ProductCase{"a=4", {8, 16, 32}}, ProductCase{"a=2, b=2", {16, 8, 64}},
                                           ProductCase{"a=2, b=3", {7, 12, 5}}, ProductCase{"a=3", {1, 9, 4}},
                                           ProductCase{"a=4, b=1", {8, 3, 8}}));

// The maxima of 64/4 columns on each device are combined by an all_reduce, as partial sums are.
TEST_F(StrategyTest, ReductionsThatAreNoSums) {
  parse("a=4", {"f32[8@_, 64@a]"}, "%0 = array.reduce max %x0 dims [1] : <f32[8@_, 64@a]> -> <f32[8@_]>");
  Strategy strategy = choose(get<ReduceOp>());
  EXPECT_EQ(strategy.reduced, AxisRefs{{"a"}});
  EXPECT_EQ(strategy.result, type("f32[8@_]"));
  EXPECT_EQ(strategy.price.linkBytes, 2 * 3 * (8 * 4));
}

// Partial sums of bf16 have 4 bytes: 3 * 4 bytes for each element are reduced and scattered, and 3 * 2 of the rounded
// sums are gathered.
TEST_F(StrategyTest, PartialSumsOf16Bits) {
  parse("a=4", {"bf16[8@_, 64@a]"}, "%0 = array.reduce sum %x0 dims [1] : <bf16[8@_, 64@a]> -> <bf16[8@_]>");
  EXPECT_EQ(choose(get<ReduceOp>()).price.linkBytes, 3 * 8 * (4 + 2));
}

TEST_F(StrategyTest, PricesOfLoopsCountIterations) {
  parse("a=4", {"f32[8@_, 64@a]"},
        "array.for 0 to 5 () {\n^bb0(%i: !spmd.array<i32[]>):\n"
        "%0 = array.reduce max %x0 dims [1] : <f32[8@_, 64@a]> -> <f32[8@_]>\narray.yield\n} : () -> ()");
  ReshardPlanner planner(mesh(), model);
  RunCounts runs;
  Operation *op = get<ReduceOp>();
  EXPECT_EQ(priceWithCurrentShardings(planner, runs, {op}).linkBytes, 5 * 2 * 3 * (8 * 4));
  EXPECT_EQ(priceWithCurrentShardings(planner, runs, {}).linkBytes, 0);
}

TEST_F(StrategyTest, ReshardsThatAnOperationOwns) {
  parse("a=4", {"f32[8@a]", "f32[8@_] unreduced(a)"},
        "%0 = spmd.reshard %x0 : <f32[8@a]> -> <f32[8@_]>\n%1 = array.exp %0 : <f32[8@_]>\n"
        "%2 = spmd.reshard %x0 : <f32[8@a]> -> <f32[8@_]>\n%3 = array.add %2, %2 : <f32[8@_]>\n"
        "%4 = spmd.reshard %x1 : <f32[8@_] unreduced(a)> -> <f32[8@_]>\n%5 = array.exp %4 : <f32[8@_]>");
  EXPECT_EQ(getOwnReshard(get<ExpOp>(0).getOperand()), get<ReshardOp>(0));
  EXPECT_FALSE(getOwnReshard(get<AddOp>().getLhs()));      // Two uses.
  EXPECT_FALSE(getOwnReshard(get<ExpOp>(1).getOperand())); // A reduction.
  EXPECT_FALSE(getOwnReshard(argument(0)));
}

// The solver's list: each assignment of [i, j, k] once; without the price of reshards.
TEST_F(StrategyTest, StrategiesForTheSolver) {
  DotGeneralOp op = parseProduct("a=2, b=2", "f32[8@a, 8@_]", "f32[8@_, 8@b]", "f32[8@_, 8@_]");
  model.flopsPerSecond = 1;
  ReshardPlanner planner(mesh(), model);
  auto strategies = listSolverStrategies(planner, op, OperationRule(op), 512);
  ASSERT_TRUE(strategies);
  EXPECT_EQ(strategies->size(), listShardings(3, {{"a"}, {"b"}}).size());
  for (const SolverStrategy &strategy : *strategies) {
    double devices = 1; // That compute different parts.
    std::set<std::string> used;
    auto addAxes = [&](const AxisRefs &axes) {
      for (const spmd::AxisRef &axis : axes)
        devices *= used.insert(axis.name).second ? 2 : 1;
    };
    for (ArrayType each : strategy.operands)
      llvm::for_each(each.getShardingOrOpen().toValue().dims, addAxes);
    EXPECT_EQ(strategy.seconds, 2 * 8 * 8 * 8 / devices);
    EXPECT_EQ(strategy.resultFraction, 1);
  }
  EXPECT_FALSE(listSolverStrategies(planner, op, OperationRule(op), 18));
}

// A step size, as solvers of differential equations have it: it is computed from shared scalars and scales an
// array. As a tree, the scalars are 2^64 operations.
TEST_F(StrategyTest, SharedScalarsBeforeAnArray) {
  std::string body;
  for (int depth = 0; depth < 64; ++depth) {
    std::string before = depth ? "%s" + std::to_string(depth - 1) : "%x0";
    body += "%s" + std::to_string(depth) + " = array.add " + before + ", " + before + " : <f32[]>\n";
  }
  for (const char *name : {"0", "1"})
    body += std::string("%b") + name + " = array.broadcast_in_dim %s63 dims [] : <f32[]> -> <f32[8@a]>\n%m" + name +
            " = array.multiply %x1, %b" + name + " : <f32[8@a]>\n";
  parse("a=4", {"f32[]", "f32[8@a]"}, body);
  ReshardPlanner planner(mesh(), model);
  WindowFamilies families(function());
  StrategyCache cache(planner, families);
  for (unsigned i : {0u, 1u})
    cache.add(get<MultiplyOp>(i));
  EXPECT_LE(cache.find(get<MultiplyOp>(0))->rematInputs.size(), 16u);
  EXPECT_EQ(cache.getKey(get<MultiplyOp>(0)), cache.getKey(get<MultiplyOp>(1)));
  double work = 0;
  EXPECT_EQ(cache.choose(get<MultiplyOp>(0), work).price.linkBytes, 0);
}

} // namespace
} // namespace spmdc
