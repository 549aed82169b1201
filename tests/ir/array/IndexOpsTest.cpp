//===- IndexOpsTest.cpp - rules and errors of run-time indices ------------===//
//
// Factors are named i, j, k, ... in the order in which the rule makes them; written out by hand.
//
//===----------------------------------------------------------------------===//

#include "ir/interfaces/OpInterfaces.h"
#include "tests/ir/support/IrTest.h"

using namespace spmdc;

namespace {

class IndexOpsTest : public IrTest {
protected:
  static std::string moduleOf(llvm::StringRef statement) {
    return (R"mlir(
      func.func @main(%x: !spmd.array<f32[8, 6]>, %v: !spmd.array<f32[5]>, %e: !spmd.array<f32[0, 6]>,
                      %s: !spmd.array<i32[]>, %i: !spmd.array<i32[5]>, %j: !spmd.array<i32[3, 4]>,
                      %a: !spmd.array<i32[8, 2]>, %long: !spmd.array<i8[2147483649]>, %u: !spmd.array<u32[4]>,
                      %up: !spmd.array<f32[5, 6]>, %al: !spmd.array<f32[8, 2]>, %win: !spmd.array<f32[1, 6]>,
                      %s2: !spmd.array<f32[3, 4]>) {
        %0 = )mlir" +
            statement + "\n return }")
        .str();
  }
  void expectRule(llvm::StringRef statement, llvm::StringRef rule) {
    auto module = parseValid(moduleOf(statement));
    ASSERT_TRUE(module);
    auto op = llvm::cast<ShardingRuleOpInterface>(&functionOf(*module).getBody().front().front());
    EXPECT_EQ(op.getShardingRule().str(), rule.str()) << statement.str();
  }
  void expectError(llvm::StringRef statement, llvm::StringRef message) {
    diagnostics.clear();
    EXPECT_FALSE(parse(moduleOf(statement))) << statement.str();
    EXPECT_NE(diagnosticText().find(message.str()), std::string::npos) << diagnosticText();
  }
};

// The dimensions of a dynamic_slice's operand may be sharded; each device returns the elements that it owns.
TEST_F(IndexOpsTest, Windows) {
  expectRule("array.dynamic_slice %x at (%s, %s) sizes [2, 6] : (!spmd.array<f32[8, 6]>, !spmd.array<i32[]>, "
             "!spmd.array<i32[]>) "
             "-> !spmd.array<f32[2, 6]>",
             "([i, k], [], []) -> ([j, k]) {i=8, j=2, k=6} reduction={i} need_replication={j}");
  expectRule("array.dynamic_update_slice %x, %win at (%s, %s) : (!spmd.array<f32[8, 6]>, !spmd.array<f32[1, 6]>, "
             "!spmd.array<i32[]>, "
             "!spmd.array<i32[]>) -> !spmd.array<f32[8, 6]>",
             "([i, k], [j, k], [], []) -> ([i, k]) {i=8, j=1, k=6} need_replication={j}");
}

TEST_F(IndexOpsTest, ArraysOfIndices) {
  expectRule("array.take %x, %j dim 1 : <f32[8, 6]>, <i32[3, 4]> -> <f32[8, 3, 4]>",
             "([i, j], [k, l]) -> ([i, k, l]) {i=8, j=6, k=3, l=4} reduction={j}");
  expectRule("array.take %x, %s dim 0 : <f32[8, 6]>, <i32[]> -> <f32[6]>",
             "([i, j], []) -> ([j]) {i=8, j=6} reduction={i}");
  expectRule("array.take_along %x, %a dim 1 : <f32[8, 6]>, <i32[8, 2]> -> <f32[8, 2]>",
             "([i, j], [i, k]) -> ([i, k]) {i=8, j=6, k=2} reduction={j}");
  expectRule("array.scatter_add %x, %i, %up dim 0 : <f32[8, 6]>, <i32[5]>, <f32[5, 6]> -> <f32[8, 6]>",
             "([i, k], [j], [j, k]) -> ([i, k]) {i=8, j=5, k=6} reduction={j}");
  expectRule("array.scatter_add_along %x, %a, %al dim 1 : <f32[8, 6]>, <i32[8, 2]>, <f32[8, 2]> -> <f32[8, 6]>",
             "([i, j], [i, k], [i, k]) -> ([i, j]) {i=8, j=6, k=2} reduction={k}");
}

// Devices combine the operand with some of the updates each, if combining it again changes nothing.
TEST_F(IndexOpsTest, Scatters) {
  expectRule("array.scatter max %x, %i, %up dim 0 : <f32[8, 6]>, <i32[5]>, <f32[5, 6]> -> <f32[8, 6]>",
             "([i, k], [j], [j, k]) -> ([i, k]) {i=8, j=5, k=6} reduction={j}");
  expectRule("array.scatter prod %x, %i, %up dim 0 unique : <f32[8, 6]>, <i32[5]>, <f32[5, 6]> -> <f32[8, 6]>",
             "([i, k], [j], [j, k]) -> ([i, k]) {i=8, j=5, k=6} need_replication={j}");
  expectRule("array.scatter replace %x, %a, %al dim 1 along : <f32[8, 6]>, <i32[8, 2]>, <f32[8, 2]> -> <f32[8, 6]>",
             "([i, j], [i, k], [i, k]) -> ([i, j]) {i=8, j=6, k=2} need_replication={k}");
  expectRule("array.scatter min %v, %j, %s2 dim 0 : <f32[5]>, <i32[3, 4]>, <f32[3, 4]> -> <f32[5]>",
             "([i], [j, k], [j, k]) -> ([i]) {i=5, j=3, k=4} reduction={j, k}");
}

TEST_F(IndexOpsTest, OrderAndRandomBits) {
  expectRule("array.argsort %x dim 1 descending = false : <f32[8, 6]> -> <i32[8, 6]>",
             "([i, j]) -> ([i, k]) {i=8, j=6, k=6} need_replication={j, k}");
  expectRule("array.threefry2x32 word 1 %u, %u, %u, %u : <u32[4]>, <u32[4]>, <u32[4]>, <u32[4]> -> <u32[4]>",
             "([i], [i], [i], [i]) -> ([i]) {i=4}");
}

// Updates from padding are dropped.
TEST_F(IndexOpsTest, PaddingOfIndicesIsOutside) {
  auto module =
      parseValid(moduleOf("array.scatter_add %x, %i, %up dim 0 : <f32[8, 6]>, <i32[5]>, <f32[5, 6]> -> <f32[8, 6]>"));
  auto op = llvm::cast<ShardingRuleOpInterface>(&functionOf(*module).getBody().front().front());
  EXPECT_EQ(llvm::cast<mlir::IntegerAttr>(op.getPaddingValue(1)).getInt(), -1);
  EXPECT_FALSE(op.getPaddingValue(0));
  EXPECT_FALSE(op.getPaddingValue(2));
}

TEST_F(IndexOpsTest, Errors) {
  expectError("array.take %x, %u dim 1 : <f32[8, 6]>, <u32[4]> -> <f32[8, 4]>",
              "indices must be i32 or i64, got u32[4]");
  expectError("array.take %long, %s dim 0 : <i8[2147483649]>, <i32[]> -> <i8[]>",
              "indices along a dimension of 2147483649 elements must be i64, got i32[]");
  expectError("array.argsort %long dim 0 descending = false : <i8[2147483649]> -> <i32[2147483649]>",
              "positions along a dimension of 2147483649 elements are i64, got i32[2147483649]");
  expectError("array.take %x, %s dim 2 : <f32[8, 6]>, <i32[]> -> <f32[8]>", "dimension 2 is outside the rank 2");
  expectError("array.take %x, %s dim 1 : <f32[8, 6]>, <i32[]> -> <f32[6]>", "result must be f32[8], got f32[6]");
  expectError("array.take %e, %i dim 0 : <f32[0, 6]>, <i32[5]> -> <f32[5, 6]>",
              "dimension 0 of f32[0, 6] is empty: it has no element to take");
  expectError("array.take_along %x, %i dim 1 : <f32[8, 6]>, <i32[5]> -> <f32[5]>",
              "indices i32[5] and operand f32[8, 6] must agree in all dimensions but 1");
  expectError(
      "array.dynamic_slice %x at (%s) sizes [2] : (!spmd.array<f32[8, 6]>, !spmd.array<i32[]>) -> !spmd.array<f32[2]>",
      "requires a start and a size for each dimension");
  expectError(
      "array.dynamic_slice %v at (%i) sizes [2] : (!spmd.array<f32[5]>, !spmd.array<i32[5]>) -> !spmd.array<f32[2]>",
      "start 0 is i32[5], not a scalar");
  expectError(
      "array.dynamic_slice %v at (%s) sizes [6] : (!spmd.array<f32[5]>, !spmd.array<i32[]>) -> !spmd.array<f32[6]>",
      "a window of 6 elements does not fit into dimension 0 of f32[5]");
  expectError("array.dynamic_update_slice %x, %v at (%s, %s) : (!spmd.array<f32[8, 6]>, !spmd.array<f32[5]>, "
              "!spmd.array<i32[]>, "
              "!spmd.array<i32[]>) -> !spmd.array<f32[8, 6]>",
              "cannot write f32[5] into f32[8, 6]");
  expectError("array.scatter_add %x, %i, %al dim 0 : <f32[8, 6]>, <i32[5]>, <f32[8, 2]> -> <f32[8, 6]>",
              "updates must be f32[5, 6], got f32[8, 2]");
  expectError("array.scatter_add_along %x, %a, %up dim 1 : <f32[8, 6]>, <i32[8, 2]>, <f32[5, 6]> -> <f32[8, 6]>",
              "updates must be f32[8, 2], got f32[5, 6]");
  expectError("array.scatter max %x, %i, %al dim 0 : <f32[8, 6]>, <i32[5]>, <f32[8, 2]> -> <f32[8, 6]>",
              "updates must be f32[5, 6], got f32[8, 2]");
  expectError("array.scatter max %x, %i, %al dim 1 along : <f32[8, 6]>, <i32[5]>, <f32[8, 2]> -> <f32[8, 6]>",
              "indices i32[5] and operand f32[8, 6] must agree in all dimensions but 1");
  expectError("array.scatter or %x, %i, %up dim 0 : <f32[8, 6]>, <i32[5]>, <f32[5, 6]> -> <f32[8, 6]>",
              "combines bits of integers and bools, got f32[8, 6]");
  expectError("array.scatter max %x, %u, %up dim 0 : <f32[8, 6]>, <u32[4]>, <f32[5, 6]> -> <f32[8, 6]>",
              "indices of 8 elements must be i32 or i64, got u32[4]");
  expectError("array.scatter max %x, %i, %up dim 2 : <f32[8, 6]>, <i32[5]>, <f32[5, 6]> -> <f32[8, 6]>",
              "dimension 2 is outside the rank 2");
  expectError("array.argsort %v dim 0 descending = true : <f32[5]> -> <f32[5]>",
              "positions are i32 or i64, got f32[5]");
  expectError("array.threefry2x32 word 2 %u, %u, %u, %u : <u32[4]>, <u32[4]>, <u32[4]>, <u32[4]> -> <u32[4]>",
              "requires word 0 or 1, got 2");
  expectError("array.threefry2x32 word 0 %i, %i, %i, %i : <i32[5]>, <i32[5]>, <i32[5]>, <i32[5]> -> <i32[5]>",
              "requires u32, got i32[5]");
}

} // namespace
