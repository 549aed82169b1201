//===- CollectiveMatmulMatchTest.cpp - collective matmuls and their costs -===//
//
// One FLOP, one byte of memory and one byte on the wire take a nanosecond each, so that times are counts.
//
//===----------------------------------------------------------------------===//

#include "passes/collectives/CollectiveMatmulMatch.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Parser/Parser.h"

#include <gtest/gtest.h>

using namespace mlir;

namespace spmdc {
namespace {

constexpr double ns = 1e-9;

class CollectiveMatmulMatchTest : public ::testing::Test {
protected:
  CollectiveMatmulMatchTest() {
    context.loadDialect<func::FuncDialect, ArrayDialect, SpmdDialect>();
    model.link = {0, 1e9, 1};
    model.flopsPerSecond = model.memoryPerSecond = 1e9;
  }

  /// The possible collective matmuls of a function with these arguments, on two devices.
  std::vector<CollectiveMatmul> find(const std::string &arguments, const std::string &body) {
    std::string text = "module attributes {spmd.mesh = #spmd.mesh<m, a=2>} {\nfunc.func @main(" + arguments + ") {\n" +
                       body + "return\n}\n}\n";
    module = parseSourceString<ModuleOp>(text, &context);
    EXPECT_TRUE(module) << text;
    return findCollectiveMatmuls(*module->getOps<func::FuncOp>().begin(), getMesh(*module), model);
  }

  MLIRContext context{MLIRContext::Threading::DISABLED};
  OwningOpRef<ModuleOp> module;
  CostModel model;
};

TEST_F(CollectiveMatmulMatchTest, AGatheredFreeDimension) {
  std::string arguments = "%x: !spmd.array<f32[2, 4]>, %w: !spmd.array<f32[4, 8]>";
  std::string product = "%0 = spmd.all_gather %x dim 0 over <a> : <f32[2, 4]> -> <f32[4, 4]>\n"
                        "%1 = array.dot_general %0, %w contract [1] x [0] batch [] x [] : <f32[4, 4]>, <f32[4, 8]> -> "
                        "<f32[4, 8]>\n";
  std::vector<CollectiveMatmul> rings = find(arguments, product);
  ASSERT_EQ(rings.size(), 1u);
  EXPECT_EQ(rings[0].role, MatmulDimRole::Free);
  EXPECT_FALSE(rings[0].isKept);
  EXPECT_EQ(rings[0].work.devices, 2);
  EXPECT_EQ(rings[0].work.chunkBytes, 32);
  // The product in one: 256 FLOPs, and 64, 128 and 128 bytes.
  EXPECT_NEAR(rings[0].work.fullProduct, 320 * ns, 1e-15);
  // With one shard: 128 FLOPs; 32, 128 and 64 bytes; the 64 are read again and stored in the result.
  EXPECT_NEAR(rings[0].work.chunkProduct, (224 + 128) * ns, 1e-15);
  EXPECT_NEAR(rings[0].work.once, 128 * ns, 1e-15);
  EXPECT_EQ(rings[0].work.otherProducts, 0);

  // The gathered array is assembled as well: 32 more bytes are read and stored, in an array of 64 filled with zeros.
  rings = find(arguments, product + "%2 = array.exp %0 : <f32[4, 4]>\n");
  ASSERT_EQ(rings.size(), 1u);
  EXPECT_TRUE(rings[0].isKept);
  EXPECT_NEAR(rings[0].work.chunkProduct, (224 + 128 + 64) * ns, 1e-15);
  EXPECT_NEAR(rings[0].work.once, (128 + 64) * ns, 1e-15);
}

TEST_F(CollectiveMatmulMatchTest, AGatheredContractedDimension) {
  std::vector<CollectiveMatmul> rings = find(
      "%x: !spmd.array<f32[8, 4]> {spmd.global = !spmd.array<f32[16@a, 4@_]>}, %w: !spmd.array<f32[2, 6]> "
      "{spmd.global = !spmd.array<f32[4@a, 6@_]>}, %y: !spmd.array<f32[2, 2]> {spmd.global = "
      "!spmd.array<f32[2@_, 2@_]>}",
      "%0 = spmd.all_gather %w dim 0 over <a> : <f32[2, 6]> -> <f32[4, 6]>\n"
      "%1 = array.dot_general %y, %y contract [1] x [0] batch [] x [] : <f32[2, 2]>, <f32[2, 2]> -> <f32[2, 2]>\n"
      "%2 = array.dot_general %x, %0 contract [1] x [0] batch [] x [] : <f32[8, 4]>, <f32[4, 6]> -> <f32[8, 6]>\n");
  ASSERT_EQ(rings.size(), 1u);
  EXPECT_EQ(rings[0].role, MatmulDimRole::Contracted);
  EXPECT_FALSE(rings[0].isLhs);
  // 192 FLOPs; 48, 64 and 192 bytes; 64 are sliced out before, and the sum so far is read.
  EXPECT_NEAR(rings[0].work.chunkProduct, (304 + 128 + 192) * ns, 1e-15);
  EXPECT_EQ(rings[0].work.once, 0);
  // The gather does not need the product in between, which takes 48 bytes.
  EXPECT_NEAR(rings[0].work.otherProducts, 48 * ns, 1e-15);
}

TEST_F(CollectiveMatmulMatchTest, AScatteredSum) {
  std::vector<CollectiveMatmul> rings = find(
      "%x: !spmd.array<f32[4, 4]>, %w: !spmd.array<f32[4, 8]>, %y: !spmd.array<f32[2, 2]>",
      "%0 = array.dot_general %x, %w contract [1] x [0] batch [] x [] : <f32[4, 4]>, <f32[4, 8]> -> <f32[4, 8]>\n"
      "%1 = spmd.reduce_scatter sum %0 dim 0 over <a> : <f32[4, 8]> -> <f32[2, 8]>\n"
      "%2 = array.dot_general %y, %y contract [1] x [0] batch [] x [] : <f32[2, 2]>, <f32[2, 2]> -> <f32[2, 2]>\n"
      "%3 = array.exp %1 : <f32[2, 8]>\n"
      "%4 = array.dot_general %y, %2 contract [1] x [0] batch [] x [] : <f32[2, 2]>, <f32[2, 2]> -> <f32[2, 2]>\n");
  ASSERT_EQ(rings.size(), 1u);
  EXPECT_TRUE(rings[0].isScatter());
  EXPECT_EQ(rings[0].work.chunkBytes, 64);
  // 128 FLOPs; 32, 128 and 64 bytes; 32 are sliced out before.
  EXPECT_NEAR(rings[0].work.chunkProduct, (224 + 64) * ns, 1e-15);
  EXPECT_NEAR(rings[0].work.addition, 3 * 64 * ns, 1e-15);
  // Only the products before the first reader count.
  EXPECT_NEAR(rings[0].work.otherProducts, 48 * ns, 1e-15);
}

TEST_F(CollectiveMatmulMatchTest, AScatteredSumOf16Bits) {
  std::vector<CollectiveMatmul> rings = find(
      "%x: !spmd.array<bf16[4, 4]>, %w: !spmd.array<bf16[4, 8]>",
      "%0 = array.dot_general %x, %w contract [1] x [0] batch [] x [] : <bf16[4, 4]>, <bf16[4, 8]> -> <bf16[4, 8]>\n"
      "%1 = spmd.reduce_scatter sum %0 dim 0 over <a> : <bf16[4, 8]> -> <bf16[2, 8]>\n");
  ASSERT_EQ(rings.size(), 1u);
  EXPECT_TRUE(rings[0].sendsDirectly());
  // As many bytes as the collective sends.
  EXPECT_EQ(rings[0].work.chunkBytes, 32);
  // 128 FLOPs; 16, 64 and 32 bytes; 16 are sliced out before.
  EXPECT_NEAR(rings[0].work.chunkProduct, (128 + 32) * ns, 1e-15);
  // Addends are read in 16 bits, the sum so far is read and stored in 32 bits, and rounded once at the end.
  EXPECT_NEAR(rings[0].work.addition, (32 + 2 * 64) * ns, 1e-15);
  EXPECT_NEAR(rings[0].work.once, (64 + 32) * ns, 1e-15);
}

} // namespace
} // namespace spmdc
