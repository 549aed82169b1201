//===- ComputeTimeTest.cpp - times of operations on their devices ---------===//
//
// One FLOP and one byte take a second each, so that times are counts.
//
//===----------------------------------------------------------------------===//

#include "passes/strategy/ComputeTime.h"

#include "passes/strategy/FactorAxesLists.h"
#include "passes/strategy/LowMemory.h"
#include "passes/strategy/StrategyTable.h"
#include "tests/passes/support/ParsedFunction.h"

#include <cmath>

using namespace mlir;

namespace spmdc {
namespace {

std::string array(const std::string &dims) { return "!spmd.array<f32[" + dims + "]>"; }
const std::string kIndices = "!spmd.array<i32[]>, !spmd.array<i32[]>";

class ComputeTimeTest : public ParsedFunction {
protected:
  ComputeTimeTest() { model.flopsPerSecond = model.memoryPerSecond = 1; }

  /// The operation before the return.
  ShardingRuleOpInterface last() {
    return cast<ShardingRuleOpInterface>(*std::prev(function().getBody().front().end(), 2));
  }
  /// The time of that operation with these axes on its factors.
  double timeOf(const FactorAxes &axes) {
    OperationRule rule(last());
    spmd::MeshShape shape = mesh();
    ComputeTime time(shape, model, last(), rule.rule);
    StrategyTable table(shape, last(), rule, time);
    Strategy strategy;
    strategy.axes = axes;
    strategy.axes.resize(rule.rule.factors.size());
    EXPECT_TRUE(table.tryAssign(strategy));
    double seconds = time.of(strategy);
    // The bound that needs no types; shards are padded, so a shard may take longer.
    EXPECT_LE(time.atLeast(strategy.axes), seconds * (1 + 1e-12));
    return seconds;
  }

  CostModel model;
};

const AxisRefs a = {{"a"}}, b = {{"b"}}, ab = {{"a"}, {"b"}};

// 2 m n k, with nested ceilings for uneven shards: 7 over a=2 and b=3 are shards of ceil(4 / 3).
TEST_F(ComputeTimeTest, ProductsByTheirMultiplications) {
  parse("a=2, b=3", {"f32[7@_, 5@_]", "f32[5@_, 8@_]"},
        "%0 = array.dot_general %x0, %x1 contract [1] x [0] batch [] x [] : <f32[7@_, 5@_]>, <f32[5@_, 8@_]> -> "
        "<f32[7@_, 8@_]>");
  ShardingRule rule = last().getShardingRule();
  auto factorOf = [&](int64_t size) {
    for (size_t f = 0; f < rule.factors.size(); ++f)
      if (rule.factors[f].size == size)
        return f;
    return size_t(0);
  };
  FactorAxes none(3), rows(3), both(3);
  rows[factorOf(7)] = ab;
  both[factorOf(5)] = a;
  both[factorOf(8)] = b;
  EXPECT_EQ(timeOf(none), 2 * 7 * 5 * 8);
  EXPECT_EQ(timeOf(rows), 2 * 2 * 5 * 8);
  EXPECT_EQ(timeOf(both), 2 * 7 * 3 * 3);
}

TEST_F(ComputeTimeTest, OtherOperationsByTheirBytes) {
  parse("a=2, b=3", {"f32[7@_, 5@_]", "f32[7@_, 5@_]"}, "%0 = array.add %x0, %x1 : <f32[7@_, 5@_]>");
  EXPECT_EQ(timeOf({}), 3 * 4 * 7 * 5);
  EXPECT_EQ(timeOf({a, b}), 3 * 4 * 4 * 2);
  EXPECT_EQ(timeOf({{}, a}), 3 * 4 * 7 * 3);
  parse("a=2", {"bf16[8@_, 16@_]"}, "%0 = array.transpose %x0 perm [1, 0] : <bf16[8@_, 16@_]> -> <bf16[16@_, 8@_]>");
  EXPECT_EQ(timeOf({a}), 2 * (2 * 8 * 16) / 2);
  // The predicate has one byte, the result and the others four.
  parse("a=2", {"bool[8@_]", "f32[8@_]"},
        "%0 = array.select %x0, %x1, %x1 : <bool[8@_]>, <f32[8@_]>, <f32[8@_]> -> <f32[8@_]>");
  EXPECT_EQ(timeOf({a}), (1 + 3 * 4) * 8 / 2);
}

TEST_F(ComputeTimeTest, RematerializableOperandsAreNotRead) {
  parse("a=2", {"f32[8@_, 4@_]", "f32[4@_]"},
        "%c = array.broadcast_in_dim %x1 dims [1] : <f32[4@_]> -> <f32[8@_, 4@_]>\n"
        "%0 = array.add %x0, %c : <f32[8@_, 4@_]>");
  EXPECT_EQ(timeOf({a}), 2 * 4 * (8 / 2) * 4);
}

TEST_F(ComputeTimeTest, ReadsAndUpdatesOfRanges) {
  // A slice of 4 of 1024 rows reads 4.
  parse("a=2", {"f32[1024@_, 8@_]", "i32[]", "f32[4@_, 8@_]"},
        "%z = array.constant dense<0> : tensor<i32> -> <i32[]>\n"
        "%0 = array.dynamic_slice %x0 at(%x1, %z) sizes [4, 8] : (" +
            array("1024@_, 8@_") + ", " + kIndices + ") -> " + array("4@_, 8@_"));
  EXPECT_EQ(timeOf({}), 2 * 4 * 4 * 8 + 4); // And an index.
  // An update in place reads the update and writes it.
  parse("a=2", {"f32[1024@_, 8@_]", "i32[]", "f32[4@_, 8@_]"},
        "%z = array.constant dense<0> : tensor<i32> -> <i32[]>\n"
        "%0 = array.dynamic_update_slice %x0, %x2 at(%x1, %z) : (" +
            array("1024@_, 8@_") + ", " + array("4@_, 8@_") + ", " + kIndices + ") -> " + array("1024@_, 8@_"));
  EXPECT_EQ(timeOf({}), 2 * 4 * 4 * 8);
}

// A sort along a dimension of 256 elements: log2(256) passes; each reads and writes a key (f32) and a position (i32).
TEST_F(ComputeTimeTest, SortsByTheirPasses) {
  parse("a=2", {"f32[8@_, 256@_]"},
        "%0 = array.argsort %x0 dim 1 descending = false : <f32[8@_, 256@_]> -> <i32[8@_, 256@_]>");
  double all = timeOf({});
  EXPECT_EQ(all, model.sortSeconds(8 * 256, 256));
  EXPECT_DOUBLE_EQ(timeOf({a}), all / 2);
}

// On every strategy of an uneven product, the bound of the factors is the time; of an uneven sum it is no more.
TEST_F(ComputeTimeTest, BoundsAreNoMoreThanTimes) {
  parse("a=2, b=3", {"f32[7@_, 5@_, 1@_]"},
        "%0 = array.reduce sum %x0 dims [1] : <f32[7@_, 5@_, 1@_]> -> <f32[7@_, 1@_]>");
  spmd::Sharding none;
  none.dims.resize(3);
  for (const FactorAxes &axes : listAllFactorAxes(mesh(), last().getShardingRule(), {none}, none))
    timeOf(axes);
}

class RunsPerReshard : public ParsedFunction {
protected:
  /// A loop of so many iterations that reads rows of %x0, and adds %x1 to them.
  void parseLoop(const std::string &iterations) {
    parse("a=4", {"f32[64@a, 8@_]", "f32[1@_, 8@_]"},
          "array.for 0 to " + iterations +
              " () {\n^bb0(%i: !spmd.array<i32[]>):\n%z = array.constant dense<0> : tensor<i32> -> <i32[]>\n"
              "%0 = array.dynamic_slice %x0 at(%i, %z) sizes [1, 8] : (" +
              array("64@a, 8@_") + ", " + kIndices + ") -> " + array("1@_, 8@_") +
              "\n%1 = array.add %0, %x1 : <f32[1@_, 8@_]>\narray.yield\n} : () -> ()");
  }
  double runs(Operation *op, unsigned index, const std::string &wanted) {
    return getRunsPerReshard(op, index, typeOf(op->getOperand(index)), type(wanted), mesh());
  }
};

TEST_F(RunsPerReshard, OfLoops) {
  parseLoop("32");
  // A value that is defined in the loop is resharded in each iteration, %x1 once.
  EXPECT_EQ(runs(get<AddOp>(), 0, "f32[1@_, 8@a]"), 1);
  EXPECT_EQ(runs(get<AddOp>(), 1, "f32[1@_, 8@a]"), 32);
  // Iterations read a part: a copy that needs more memory has to be worth it.
  EXPECT_EQ(runs(get<DynamicSliceOp>(), 0, "f32[64@_, 8@a]"), 32);
  EXPECT_EQ(runs(get<DynamicSliceOp>(), 0, "f32[64@_, 8@_]"), 32 / kWorthHolding);
  (*module)->setAttr(kLowMemoryAttrName, UnitAttr::get(&context));
  EXPECT_EQ(runs(get<DynamicSliceOp>(), 0, "f32[64@_, 8@_]"), 1);
  EXPECT_EQ(runs(get<DynamicSliceOp>(), 0, "f32[64@_, 8@a]"), 32);
}

TEST_F(RunsPerReshard, NeverLessThanOnce) {
  for (const char *iterations : {"0", "1", "2"}) {
    parseLoop(iterations);
    EXPECT_EQ(runs(get<DynamicSliceOp>(), 0, "f32[64@_, 8@_]"), 1) << iterations;
  }
}

} // namespace
} // namespace spmdc
