//===- AvailableShardingsTest.cpp - copies of values ----------------------===//

#include "passes/strategy/AvailableShardings.h"

#include "tests/passes/support/ParsedFunction.h"

using namespace mlir;

namespace spmdc {
namespace {

class AvailableShardingsTest : public ParsedFunction {
protected:
  void start() {
    planner.emplace(mesh());
    available.emplace(*planner);
  }
  /// The bytes that all devices send for the wanted sharding.
  double bytes(Value value, const std::string &wanted, Operation *user) {
    double found = available->find(value, type(wanted), user).cost.wireBytes;
    EXPECT_LE(available->getLeastBytes(value, type(wanted), user), found);
    return found;
  }

  std::optional<ReshardPlanner> planner;
  std::optional<AvailableShardings> available;
};

// A gather of 64 elements of 4 bytes among 4 devices: each receives 3/4.
constexpr double kGather = 4 * (3 * 64 * 4 / 4);

TEST_F(AvailableShardingsTest, ACopyIsMadeOnce) {
  parse("a=4", {"f32[64@a]"}, "%0 = array.exp %x0 : <f32[64@a]>\n%1 = array.sin %x0 : <f32[64@a]>");
  start();
  Operation *first = get<ExpOp>(), *second = get<SinOp>();
  EXPECT_EQ(bytes(argument(0), "f32[64@_]", first), kGather);
  Value copy = available->take(argument(0), type("f32[64@_]"), first, "test");
  EXPECT_EQ(copy.getType(), type("f32[64@_]"));
  EXPECT_EQ(available->getOriginal(copy), argument(0));
  EXPECT_EQ(bytes(argument(0), "f32[64@_]", second), 0);
  EXPECT_EQ(available->take(argument(0), type("f32[64@_]"), second, "test"), copy);
  // The value itself needs no copy.
  EXPECT_EQ(available->take(argument(0), type("f32[64@a]"), second, "test"), argument(0));
}

// A copy in a branch is visible there only.
TEST_F(AvailableShardingsTest, CopiesInBranches) {
  parse("a=4", {"bool[]", "f32[64@a]"},
        "array.if %x0 {\n%0 = array.exp %x1 : <f32[64@a]>\narray.yield\n} else {\n%1 = array.exp %x1 : <f32[64@a]>\n"
        "array.yield\n} : (!spmd.array<bool[]>) -> ()\n%2 = array.exp %x1 : <f32[64@a]>");
  start();
  available->take(argument(1), type("f32[64@_]"), get<ExpOp>(0), "test");
  EXPECT_EQ(bytes(argument(1), "f32[64@_]", get<ExpOp>(0)), 0);
  EXPECT_EQ(bytes(argument(1), "f32[64@_]", get<ExpOp>(1)), kGather);
  EXPECT_EQ(bytes(argument(1), "f32[64@_]", get<ExpOp>(2)), kGather);
}

TEST_F(AvailableShardingsTest, TransposesOfCopies) {
  parse("a=4", {"f32[16@a, 4@_]"},
        "%t = array.transpose %x0 perm [1, 0] : <f32[16@a, 4@_]> -> <f32[4@_, 16@a]>\n"
        "%0 = array.exp %x0 : <f32[16@a, 4@_]>\n%1 = array.exp %t : <f32[4@_, 16@a]>");
  start();
  Value transposed = get<TransposeOp>();
  available->take(argument(0), type("f32[16@_, 4@_]"), get<ExpOp>(0), "test");
  EXPECT_EQ(bytes(transposed, "f32[4@_, 16@_]", get<ExpOp>(1)), 0);
  EXPECT_EQ(available->find(transposed, type("f32[4@_, 16@_]"), get<ExpOp>(1)).perm, (SmallVector<int64_t>{1, 0}));
  Value copy = available->take(transposed, type("f32[4@_, 16@_]"), get<ExpOp>(1), "test");
  EXPECT_TRUE(copy.getDefiningOp<TransposeOp>());
  EXPECT_EQ(copy.getType(), type("f32[4@_, 16@_]"));
}

// The rows of a bias: the bias of 16 elements is gathered, not its 64 rows.
TEST_F(AvailableShardingsTest, RematerializedRows) {
  parse("a=4", {"f32[16@a]"},
        "%r = array.broadcast_in_dim %x0 dims [1] : <f32[16@a]> -> <f32[64@_, 16@a]>\n"
        "%0 = array.exp %r : <f32[64@_, 16@a]>");
  start();
  Value rows = get<BroadcastInDimOp>();
  EXPECT_EQ(bytes(rows, "f32[64@_, 16@_]", get<ExpOp>()), 4 * (3 * 16 * 4 / 4));
  EXPECT_TRUE(available->find(rows, type("f32[64@_, 16@_]"), get<ExpOp>()).producer);
  Value copy = available->take(rows, type("f32[64@_, 16@_]"), get<ExpOp>(), "test");
  EXPECT_TRUE(copy.getDefiningOp<BroadcastInDimOp>());
  EXPECT_EQ(get<ReshardOp>().getType(), type("f32[16@_]"));
  // Zeros are made in any sharding.
  parse("a=4", {}, "%c = array.constant dense<0.0> : tensor<8xf32> -> <f32[8@a]>\n%0 = array.exp %c : <f32[8@a]>");
  start();
  Value zeros = available->take(get<ConstantOp>(), type("f32[8@_] unreduced(a)"), get<ExpOp>(), "test");
  EXPECT_TRUE(isZero(zeros));
  EXPECT_EQ(zeros.getType(), type("f32[8@_] unreduced(a)"));
}

// A reshard to the propagated sharding is divided among its users until one takes it.
TEST_F(AvailableShardingsTest, UsersShareTheReshardOfAResult) {
  parse("a=4", {"f32[64@a]"},
        "%v = array.exp %x0 : <f32[64@a]>\n%0 = array.sin %v : <f32[64@a]>\n%1 = array.sin %v : <f32[64@a]>");
  start();
  Value made = get<ExpOp>();
  available->addPropagated(made, type("f32[64@_]"), "test");
  Operation *first = get<SinOp>(0), *second = get<SinOp>(1);
  Value copy = first->getOperand(0);
  EXPECT_EQ(copy.getType(), type("f32[64@_]"));
  EXPECT_EQ(available->getOriginal(copy), made);
  EXPECT_EQ(available->getUnpaidCost(copy, first).wireBytes, kGather / 2);
  EXPECT_EQ(bytes(copy, "f32[64@_]", first), kGather / 2);
  EXPECT_EQ(bytes(copy, "f32[64@a]", first), 0); // As computed.
  available->take(copy, type("f32[64@_]"), first, "test");
  EXPECT_EQ(available->getUnpaidCost(copy, second).wireBytes, 0);
  EXPECT_EQ(bytes(copy, "f32[64@_]", second), 0);
}

TEST_F(AvailableShardingsTest, CleaningUp) {
  parse("a=4", {"f32[64@a]", "f32[8@_, 8@a]"},
        "%v = array.exp %x0 : <f32[64@a]>\n%0 = array.sin %v : <f32[64@a]>\n%1 = array.tanh %v : <f32[64@a]>");
  start();
  Operation *user = get<SinOp>(), *other = get<TanhOp>();
  available->addPropagated(get<ExpOp>(), type("f32[64@_]"), "test");
  // Both take the result as it is computed, so the reshard has no use.
  for (Operation *each : {user, other})
    each->setOperand(0, available->take(each->getOperand(0), type("f32[64@a]"), each, "test"));
  available->clean();
  EXPECT_TRUE(function().getOps<ReshardOp>().empty());
  EXPECT_EQ(user->getOperand(0), get<ExpOp>().getResult());
}

TEST_F(AvailableShardingsTest, PlacesOfReshards) {
  auto loop = [](const std::string &body) {
    return "array.for 0 to 3 () {\n^bb0(%i: !spmd.array<i32[]>):\n" + body + "array.yield\n} : () -> ()\n";
  };
  std::string inner = "array.for 0 to 5 () {\n^bb0(%j: !spmd.array<i32[]>):\n%0 = array.sin %x0 : <f32[64@a]>\n"
                      "%1 = array.cos %v : <f32[64@a]>\narray.if %x1 {\n%2 = array.exp %x0 : <f32[64@a]>\narray.yield\n"
                      "} else {\narray.yield\n} : (!spmd.array<bool[]>) -> ()\narray.yield\n} : () -> ()\n";
  parse("a=4", {"f32[64@a]", "bool[]"},
        loop("%v = array.tanh %x0 : <f32[64@a]>\n" + inner) + "%3 = array.sin %x0 : <f32[64@a]>");
  Operation *outer = get<ForOp>(0), *nested = get<ForOp>(1);
  Value x = argument(0);
  EXPECT_EQ(findReshardPlace(x, get<SinOp>(0)), outer);
  EXPECT_EQ(getRunsPerReshard(x, get<SinOp>(0)), 3 * 5);
  EXPECT_EQ(findReshardPlace(get<TanhOp>(), get<CosOp>()), nested);
  EXPECT_EQ(getRunsPerReshard(get<TanhOp>(), get<CosOp>()), 5);
  // Also out of a branch in the loop; the branch counts as taken.
  EXPECT_EQ(findReshardPlace(x, get<ExpOp>()), outer);
  EXPECT_EQ(getRunsPerReshard(x, get<ExpOp>()), 3 * 5);
  // Without a loop around it, in front of the user.
  EXPECT_EQ(findReshardPlace(x, get<SinOp>(1)), get<SinOp>(1));
  EXPECT_EQ(getRunsPerReshard(x, get<SinOp>(1)), 1);
}

TEST_F(AvailableShardingsTest, TypesOfReducedValues) {
  EXPECT_EQ(withoutUnreduced(type("f32[8@b] unreduced(a)")), type("f32[8@b]"));
  EXPECT_EQ(withoutUnreduced(type("f32[8@b]")), type("f32[8@b]"));
}

} // namespace
} // namespace spmdc
