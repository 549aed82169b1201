//===- ShardingRulesTest.cpp - the factors of every operation -------------===//
//
// Written out by hand: factors are named i, j, k, ... in the order in which the rule makes them.
//
//===----------------------------------------------------------------------===//

#include "ir/interfaces/OpInterfaces.h"
#include "tests/ir/support/IrTest.h"

#include <set>

using namespace spmdc;

namespace {

class ShardingRulesTest : public IrTest {
protected:
  void expectRule(llvm::StringRef statement, llvm::StringRef rule) {
    auto module = parseValid((R"mlir(
      func.func @main(%x: !spmd.array<f32[8, 6]>, %y: !spmd.array<f32[6, 4]>, %s: !spmd.array<f32[]>,
                      %b: !spmd.array<bool[8, 6]>, %one: !spmd.array<f32[8, 1]>, %t: !spmd.array<f32[3, 8, 6]>,
                      %u: !spmd.array<f32[3, 6, 5]>, %v: !spmd.array<f32[24]>, %e: !spmd.array<f32[0, 4]>,
                      %t2: !spmd.array<f32[3, 8, 2]>) {
        %0 = )mlir" + statement +
                              "\n return }")
                                 .str());
    ASSERT_TRUE(module);
    auto op = llvm::cast<ShardingRuleOpInterface>(&functionOf(*module).getBody().front().front());
    EXPECT_EQ(op.getShardingRule().str(), rule.str()) << statement.str();
  }
};

TEST_F(ShardingRulesTest, Elementwise) {
  expectRule("array.sin %x : <f32[8, 6]>", "([i, j]) -> ([i, j]) {i=8, j=6}");
  expectRule("array.add %x, %x : <f32[8, 6]>", "([i, j], [i, j]) -> ([i, j]) {i=8, j=6}");
  expectRule("array.select %b, %x, %x : <bool[8, 6]>, <f32[8, 6]>, <f32[8, 6]> -> <f32[8, 6]>",
             "([i, j], [i, j], [i, j]) -> ([i, j]) {i=8, j=6}");
  expectRule("array.sin %s : <f32[]>", "([]) -> ([]) {}");
  expectRule("spmd.constraint %x : <f32[8, 6]> -> <f32[8, 6@_]>", "([i, j]) -> ([i, j]) {i=8, j=6}");
  expectRule("spmd.reshard %x : <f32[8, 6]> -> <f32[8, 6@_]>", "([i, j]) -> ([i, j]) {i=8, j=6}");
}

// Each device can create its shard of a splat; other constants are replicated.
TEST_F(ShardingRulesTest, Creation) {
  expectRule("array.constant dense<1.0> : tensor<8xf32> -> <f32[8]>", "() -> ([i]) {i=8}");
  expectRule("array.constant dense<[1.0, 2.0]> : tensor<2xf32> -> <f32[2]>", "() -> ([i]) {i=2} need_replication={i}");
  expectRule("array.iota dim 1 : <i32[8, 6]>", "() -> ([i, j]) {i=8, j=6}");
}

TEST_F(ShardingRulesTest, BroadcastHasNewFactorsWhereItRepeats) {
  expectRule("array.broadcast_in_dim %s dims [] : <f32[]> -> <f32[2, 3]>", "([]) -> ([i, j]) {i=2, j=3}");
  expectRule("array.broadcast_in_dim %y dims [0, 2] : <f32[6, 4]> -> <f32[6, 5, 4]>",
             "([i, k]) -> ([i, j, k]) {i=6, j=5, k=4}");
  expectRule("array.broadcast_in_dim %one dims [0, 1] : <f32[8, 1]> -> <f32[8, 5]>", "([i, ]) -> ([i, j]) {i=8, j=5}");
}

TEST_F(ShardingRulesTest, ReshapeSplitsAndMerges) {
  expectRule("array.reshape %x : <f32[8, 6]> -> <f32[48]>", "([i, j]) -> ([ij]) {i=8, j=6}");
  expectRule("array.reshape %v : <f32[24]> -> <f32[2, 3, 4]>", "([ijk]) -> ([i, j, k]) {i=2, j=3, k=4}");
  expectRule("array.reshape %x : <f32[8, 6]> -> <f32[4, 12]>", "([ij, k]) -> ([i, jk]) {i=4, j=2, k=6}");
  expectRule("array.reshape %x : <f32[8, 6]> -> <f32[1, 8, 1, 6]>", "([i, j]) -> ([, i, , j]) {i=8, j=6}");
  // 6 x 4 and 4 x 6 share the major 2; 3 x 4 and 2 x 6 have no common factor at the major end.
  expectRule("array.reshape %y : <f32[6, 4]> -> <f32[4, 6]>",
             "([ij, m]) -> ([ik, l]) {i=2, j=3, k=2, l=6, m=4} need_replication={j, k, l, m}");
  expectRule("array.reshape %e : <f32[0, 4]> -> <f32[2, 0]>", "([, i]) -> ([j, ]) {i=4, j=2} need_replication={i, j}");
}

TEST_F(ShardingRulesTest, TransposePermutes) {
  expectRule("array.transpose %t perm [1, 2, 0] : <f32[3, 8, 6]> -> <f32[8, 6, 3]>",
             "([i, j, k]) -> ([j, k, i]) {i=3, j=8, k=6}");
}

// Operations that move elements along a dimension give operand and result one factor, unless one is a small part of the
// other.
TEST_F(ShardingRulesTest, Moving) {
  expectRule("array.slice %x [0, 1] to [8, 5] step [1, 1] : <f32[8, 6]> -> <f32[8, 4]>",
             "([i, j]) -> ([i, j]) {i=8, j=4} permutation={j}");
  expectRule("array.slice %x [0, 1] to [8, 2] step [1, 1] : <f32[8, 6]> -> <f32[8, 1]>",
             "([i, j]) -> ([i, k]) {i=8, j=6, k=1} need_replication={j, k}");
  expectRule("array.slice %x [0, 0] to [8, 6] step [2, 1] : <f32[8, 6]> -> <f32[4, 6]>",
             "([i, j]) -> ([i, j]) {i=4, j=6} permutation={i}");
  expectRule("array.pad %x with %s low [0, 1] high [0, 0] interior [0, 0] : <f32[8, 6]>, <f32[]> -> <f32[8, 7]>",
             "([i, j], []) -> ([i, j]) {i=8, j=7} permutation={j}");
  expectRule("array.pad %x with %s low [0, 1] high [0, 0] interior [0, 1] : <f32[8, 6]>, <f32[]> -> <f32[8, 12]>",
             "([i, j], []) -> ([i, j]) {i=8, j=12} permutation={j}");
  expectRule("array.pad %x with %s low [0, 1] high [0, 90] interior [0, 1] : <f32[8, 6]>, <f32[]> -> <f32[8, 102]>",
             "([i, j], []) -> ([i, k]) {i=8, j=6, k=102} need_replication={j, k}");
  expectRule("array.concatenate %x, %one dim 1 : !spmd.array<f32[8, 6]>, !spmd.array<f32[8, 1]> -> <f32[8, 7]>",
             "([i, j], [i, k]) -> ([i, j]) {i=8, j=7, k=1} permutation={j} need_replication={k}");
  expectRule("array.reverse %x dims [1] : <f32[8, 6]> -> <f32[8, 6]>",
             "([i, j]) -> ([i, j]) {i=8, j=6} permutation={j}");
  expectRule("array.cumulative sum %x dim 0 : <f32[8, 6]> -> <f32[8, 6]>",
             "([i, j]) -> ([i, j]) {i=8, j=6} combined={i}");
  expectRule("array.cumulative sum %t dim 1 continued : <f32[3, 8, 6]> -> <f32[3, 8, 6]>",
             "([i, j, k]) -> ([i, j, k]) {i=3, j=8, k=6} need_replication={i, j}");
  expectRule("array.arg_reduce %x max = true dim 1 : <f32[8, 6]> -> <i32[8]>",
             "([i, j]) -> ([i]) {i=8, j=6} combined={j}");
  expectRule("array.fft %t2 dim 1 length 14 inverse divisor 14 : <f32[3, 8, 2]> -> <f32[3, 14, 1]>",
             "([i, j, l]) -> ([i, k, m]) {i=3, j=8, k=14, l=2, m=1} need_replication={j, k, l, m}");
}

TEST_F(ShardingRulesTest, ContractionsAndReductions) {
  expectRule("array.dot_general %x, %y contract [1] x [0] batch [] x [] : <f32[8, 6]>, <f32[6, 4]> -> <f32[8, 4]>",
             "([i, k], [k, j]) -> ([i, j]) {i=8, j=4, k=6} reduction={k}");
  expectRule("array.dot_general %t, %u contract [2] x [1] batch [0] x [0] : <f32[3, 8, 6]>, <f32[3, 6, 5]> -> "
             "<f32[3, 8, 5]>",
             "([i, j, l], [i, l, k]) -> ([i, j, k]) {i=3, j=8, k=5, l=6} reduction={l}");
  expectRule("array.einsum %x, %x, %y labels [[0, 1], [2, 1], [1, 5]] -> [5, 0, 2] : !spmd.array<f32[8, 6]>, "
             "!spmd.array<f32[8, 6]>, "
             "!spmd.array<f32[6, 4]> -> <f32[4, 8, 8]>",
             "([j, l], [k, l], [l, i]) -> ([i, j, k]) {i=4, j=8, k=8, l=6} reduction={l}");
  expectRule("array.reduce max %t dims [0, 2] : <f32[3, 8, 6]> -> <f32[8]>",
             "([i, j, k]) -> ([j]) {i=3, j=8, k=6} reduction={i, k}");
}

// The padding values that do not change a reduction.
TEST_F(ShardingRulesTest, PaddingValues) {
  auto paddingOf = [&](llvm::StringRef statement) {
    auto module = parseValid(
        ("func.func @main(%x: !spmd.array<f32[4]>, %i: !spmd.array<i8[4]>) {\n %0 = " + statement + "\n return }")
            .str());
    auto op = llvm::cast<ShardingRuleOpInterface>(&functionOf(*module).getBody().front().front());
    std::string text;
    llvm::raw_string_ostream os(text);
    op.getPaddingValue(0).print(os);
    return text;
  };
  EXPECT_EQ(paddingOf("array.reduce sum %x dims [0] : <f32[4]> -> <f32[]>"), "0.000000e+00 : f32");
  EXPECT_EQ(paddingOf("array.reduce prod %x dims [0] : <f32[4]> -> <f32[]>"), "1.000000e+00 : f32");
  EXPECT_EQ(paddingOf("array.reduce max %x dims [0] : <f32[4]> -> <f32[]>"), "0xFF800000 : f32");
  EXPECT_EQ(paddingOf("array.reduce min %i dims [0] : <i8[4]> -> <i8[]>"), "127 : i8");
  EXPECT_EQ(paddingOf("array.reduce max %i dims [0] : <i8[4]> -> <i8[]>"), "-128 : i8");
  EXPECT_EQ(paddingOf("array.reduce and %i dims [0] : <i8[4]> -> <i8[]>"), "-1 : i8");
  EXPECT_EQ(paddingOf("array.dot_general %x, %x contract [0] x [0] batch [] x [] : <f32[4]>, <f32[4]> -> <f32[]>"),
            "0.000000e+00 : f32");
  EXPECT_EQ(paddingOf("array.einsum %x, %x, %x labels [[0], [0], [0]] -> [] : !spmd.array<f32[4]>, "
                      "!spmd.array<f32[4]>, !spmd.array<f32[4]> -> <f32[]>"),
            "0.000000e+00 : f32");
}

} // namespace
