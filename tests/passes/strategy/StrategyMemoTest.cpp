//===- StrategyMemoTest.cpp - remembered strategies -----------------------===//
//
// Operations of random programs, between random shardings, get the strategy that a search without memory finds. The
// memory is kept from program to program, so that it answers for operations of other functions and other states.
//
//===----------------------------------------------------------------------===//

#include "passes/strategy/StrategyMemo.h"

#include "tests/passes/support/ParsedFunction.h"

#include <random>

using namespace mlir;

namespace spmdc {
namespace {

class StrategyMemoTest : public ParsedFunction {
protected:
  std::string pick(const std::vector<std::string> &texts) { return texts[random() % texts.size()]; }
  std::string matrix() { return pick({"f32[16@a, 16@_]", "f32[16@_, 16@a]", "f32[16@_, 16@_]", "f32[16@b, 16@a]"}); }
  std::string row() { return pick({"f32[16@a]", "f32[16@_]", "f32[16@b]"}); }

  /// A program of few kinds of operations, so that equal ones occur with copies of their operands and without.
  void parseRandom() {
    std::vector<std::string> types = {matrix(), matrix()}, names = {"%x0", "%x1"};
    std::string bias = row(), body;
    auto any = [&] { return random() % types.size(); };
    for (unsigned i = 0; i < 12; ++i) {
      size_t x = any(), y = any();
      std::string name = "%y" + std::to_string(i), type = matrix(), spread = matrix();
      switch (random() % 6) {
      case 0:
        body += name + " = array.exp " + names[x] + " : <" + types[x] + ">";
        type = types[x];
        break;
      case 1:
        body += name + " = array.transpose " + names[x] + " perm [1, 0] : <" + types[x] + "> -> <" + type + ">";
        break;
      case 2:
        body += name + "b = array.broadcast_in_dim %x2 dims [1] : <" + bias + "> -> <" + types[x] + ">\n" + name +
                " = array.multiply " + names[x] + ", " + name + "b : <" + types[x] + ">";
        type = types[x];
        break;
      case 3:
        body += name + " = array.multiply " + names[x] + ", " + names[x] + " : <" + types[x] + ">";
        type = types[x];
        break;
      default:
        body += name + " = array.dot_general " + names[x] + ", " + names[y] + " contract [1] x [0] batch [] x [] : <" +
                types[x] + ">, <" + types[y] + "> -> <" + type + ">";
      }
      body += "\n";
      types.push_back(type);
      names.push_back(name);
    }
    parse("a=2, b=2", {types[0], types[1], bias}, body);
  }

  std::mt19937 random;
};

TEST_F(StrategyMemoTest, AsWithoutMemory) {
  StrategyMemo memo;
  unsigned copies = 0;
  for (unsigned seed = 0; seed < 200; ++seed) {
    SCOPED_TRACE(seed);
    random.seed(seed);
    parseRandom();
    ReshardPlanner planner(mesh());
    AvailableShardings available(planner);
    OperationTable table(memo.getNumbers());
    std::vector<ShardingRuleOpInterface> ops;
    function().walk([&](ShardingRuleOpInterface op) { ops.push_back(op); });
    Windows windows(Windows::listMovers(function().getBody()), getMesh(*module));
    for (ShardingRuleOpInterface op : ops) {
      OperationFacts facts = table.compute(op);
      Strategy found = memo.choose(planner, available, windows, op, facts);
      Strategy wanted =
          chooseStrategy(planner, available, [&](Operation *) { return &windows; }, op, OperationRule(op));
      EXPECT_EQ(found.operands, wanted.operands);
      EXPECT_EQ(found.result, wanted.result);
      EXPECT_EQ(found.axes, wanted.axes);
      EXPECT_EQ(found.price.seconds, wanted.price.seconds);
      EXPECT_EQ(found.price.linkBytes, wanted.price.linkBytes);
      // As spmdc-insert-reshards does it, so that later operations find copies, which may be paid for or not.
      for (auto [index, to] : llvm::enumerate(found.operands)) {
        Value operand = op->getOperand(index);
        if (typeOf(operand).getShardingOrOpen().hasSameAxes(to.getShardingOrOpen()))
          continue;
        op->setOperand(index, available.take(operand, to, op, "test"));
        ++copies;
      }
      Value value = op->getResult(0);
      ArrayType result = typeOf(value);
      if (result.getShardingOrOpen().hasSameAxes(found.result.getShardingOrOpen()))
        continue;
      value.setType(found.result);
      available.addPropagated(value, result, "test");
    }
  }
  EXPECT_GT(copies, 200U);
}

} // namespace
} // namespace spmdc
