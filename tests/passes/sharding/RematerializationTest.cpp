//===- RematerializationTest.cpp - values that devices can make again -----===//

#include "passes/sharding/Rematerialization.h"

#include "tests/passes/support/ParsedFunction.h"

using namespace mlir;

namespace spmdc {
namespace {

class RematerializationTest : public ParsedFunction {
protected:
  /// The result of the last operation of a function with the arguments %x0: f32[8@a, 4@_] and %x1: f32[4@a].
  Value last(const std::string &body) {
    parse("a=2, b=2", {"f32[8@a, 4@_]", "f32[4@a]", "f32[]", "f32[6@_]"}, body);
    return std::prev(function().getBody().front().end(), 2)->getResult(0);
  }
};

const std::string kSplat = "%c = array.constant dense<2.0> : tensor<8x4xf32> -> <f32[8@a, 4@_]>\n";
const std::string kRows = "%r = array.broadcast_in_dim %x1 dims [1] : <f32[4@a]> -> <f32[8@b, 4@_]>\n";

TEST_F(RematerializationTest, WhatNeedsNoLargeArray) {
  EXPECT_TRUE(isRematerializable(last(kSplat)));
  EXPECT_TRUE(isRematerializable(last("%i = array.iota dim 0 : <i32[8@a]>")));
  EXPECT_TRUE(isRematerializable(last(kRows)));
  EXPECT_TRUE(isRematerializable(last(kRows + "%e = array.exp %r : <f32[8@b, 4@_]>")));
  EXPECT_TRUE(isRematerializable(last(kRows + "%e = array.add %r, %r : <f32[8@b, 4@_]>")));
  EXPECT_TRUE(isRematerializable(last("%e = array.exp %x2 : <f32[]>")));
  // Reshards are looked through, except reductions.
  EXPECT_TRUE(isRematerializable(last(kSplat + "%e = spmd.reshard %c : <f32[8@a, 4@_]> -> <f32[8@_, 4@b]>")));

  EXPECT_FALSE(isRematerializable(argument(0)));
  EXPECT_FALSE(isRematerializable(last("%c = array.constant dense<[1, 2]> : tensor<2xi32> -> <i32[2]>")));
  EXPECT_FALSE(isRematerializable(last("%e = array.exp %x0 : <f32[8@a, 4@_]>")));
  EXPECT_FALSE(isRematerializable(last("%e = array.transpose %x0 perm [1, 0] : <f32[8@a, 4@_]> -> <f32[4@_, 8@a]>")));
}

// The header documents a limit on the operations, counted as a tree: 2^n - 1 for n doublings of an iota.
TEST_F(RematerializationTest, SmallTreesOnly) {
  std::string body = "%v0 = array.iota dim 0 : <f32[8@a]>\n";
  for (int depth = 1; depth <= 5; ++depth) {
    std::string before = "%v" + std::to_string(depth - 1);
    body += "%v" + std::to_string(depth) + " = array.add " + before + ", " + before + " : <f32[8@a]>\n";
    EXPECT_EQ(isRematerializable(last(body)), (2 << depth) - 1 <= 16) << depth;
  }
}

TEST_F(RematerializationTest, Zeros) {
  EXPECT_TRUE(isZero(last("%c = array.constant dense<0.0> : tensor<8x4xf32> -> <f32[8@a, 4@_]>")));
  EXPECT_TRUE(isZero(last("%c = array.constant dense<-0.0> : tensor<f32> -> <f32[]>")));
  EXPECT_TRUE(isZero(last("%c = array.constant dense<0> : tensor<3xi32> -> <i32[3]>")));
  EXPECT_TRUE(isZero(last("%c = array.constant dense<false> : tensor<3xi1> -> <bool[3]>")));
  EXPECT_FALSE(isZero(last(kSplat)));
  EXPECT_FALSE(isZero(last("%c = array.constant dense<[0, 1]> : tensor<2xi32> -> <i32[2]>")));
  EXPECT_FALSE(isZero(argument(0)));
}

TEST_F(RematerializationTest, OperationsThatCanRunAgain) {
  auto find = [&](const std::string &body) { return findRematerializableOp(last(body)); };
  EXPECT_TRUE(find("%e = array.exp %x0 : <f32[8@a, 4@_]>"));
  EXPECT_TRUE(find("%e = array.add %x0, %x0 : <f32[8@a, 4@_]>"));
  EXPECT_TRUE(find(kSplat + "%e = array.multiply %x0, %c : <f32[8@a, 4@_]>"));
  EXPECT_TRUE(find("%e = array.reshape %x0 : <f32[8@a, 4@_]> -> <f32[32@a]>"));
  // Two arrays, and an operation that is neither element-wise nor a reshape.
  EXPECT_FALSE(find("%f = array.transpose %x0 perm [1, 0] : <f32[8@a, 4@_]> -> <f32[4@_, 8@a]>\n"
                    "%g = array.reshape %f : <f32[4@_, 8@a]> -> <f32[8@_, 4@_]>\n"
                    "%e = array.add %x0, %g : (<f32[8@a, 4@_]>, <f32[8@_, 4@_]>) -> <f32[8@a, 4@_]>"));
  EXPECT_FALSE(find("%e = array.transpose %x0 perm [1, 0] : <f32[8@a, 4@_]> -> <f32[4@_, 8@a]>"));
  // A rematerializable value is made before its reshards; another one is resharded where the user wrote it.
  EXPECT_TRUE(isa<ConstantOp>(find(kSplat + "%e = spmd.reshard %c : <f32[8@a, 4@_]> -> <f32[8@_, 4@b]>")));
  EXPECT_FALSE(find("%e = spmd.reshard %x0 : <f32[8@a, 4@_]> -> <f32[8@_, 4@b]>"));
  EXPECT_FALSE(findRematerializableOp(argument(0)));
}

TEST_F(RematerializationTest, OperandTypesForAWantedSharding) {
  auto rows = last(kRows).getDefiningOp<ShardingRuleOpInterface>();
  EXPECT_EQ(listOperandTypes(mesh(), rows, type("f32[8@a, 4@b]")), SmallVector<ArrayType>{type("f32[4@b]")});
  EXPECT_EQ(listOperandTypes(mesh(), rows, type("f32[8@\"(a, b)\", 4@_]")), SmallVector<ArrayType>{type("f32[4@_]")});
  // A reshape f32[6] as f32[3, 2]: the second dimension over an axis is no sharding of the operand.
  auto reshape =
      last("%r = array.reshape %x3 : <f32[6@_]> -> <f32[3@_, 2@_]>").getDefiningOp<ShardingRuleOpInterface>();
  EXPECT_EQ(listOperandTypes(mesh(), reshape, type("f32[3@_, 2@_]")), SmallVector<ArrayType>{type("f32[6@_]")});
  EXPECT_EQ(listOperandTypes(mesh(), reshape, type("f32[3@_, 2@a]")), std::nullopt);
}

TEST_F(RematerializationTest, ReshardsOfTheSmallArraysAlone) {
  Value sum = last(kRows + kSplat + "%e = array.add %r, %c : (<f32[8@b, 4@_]>, <f32[8@a, 4@_]>) -> <f32[8@b, 4@_]>");
  auto reshards = listReshardsToRematerialize(mesh(), sum, type("f32[8@_, 4@b]"));
  ASSERT_TRUE(reshards);
  ASSERT_EQ(reshards->size(), 1u); // Of the row; the splat has no operands.
  EXPECT_EQ((*reshards)[0].from, type("f32[4@a]"));
  EXPECT_EQ((*reshards)[0].to, type("f32[4@b]"));

  OpBuilder builder(function().getBody().front().getTerminator());
  Value made = rematerialize(builder, mesh(), sum, type("f32[8@_, 4@b]"));
  EXPECT_EQ(made.getType(), type("f32[8@_, 4@b]"));
  EXPECT_EQ(get<ReshardOp>().getType(), type("f32[4@b]"));
  EXPECT_TRUE(succeeded(module->verify()));

  // Nothing to do for the present sharding, and no way for another array.
  EXPECT_TRUE(listReshardsToRematerialize(mesh(), sum, typeOf(sum))->empty());
  EXPECT_FALSE(listReshardsToRematerialize(mesh(), argument(0), type("f32[8@b, 4@_]")));
  EXPECT_TRUE(listReshardsToRematerialize(mesh(), argument(0), type("f32[8@a, 4@_]"))->empty());
}

} // namespace
} // namespace spmdc
