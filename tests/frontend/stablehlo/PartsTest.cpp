//===- PartsTest.cpp - texts and names of exported programs -------------===//

#include "frontend/stablehlo/Names.h"
#include "frontend/stablehlo/ShardingTexts.h"
#include "frontend/stablehlo/TextForm.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

using namespace spmdc;
using namespace spmdc::stablehlo;
using ::testing::ElementsAre;

namespace {

//===- TextForm -----------------------------------------------------------===//

TEST(TextForm, RangesOfLinesAreFusedLocations) {
  EXPECT_EQ(toReadableText("loc(\"f.py\":3:4 to :9)"), "loc(fused<\"range\">[\"f.py\":3:5, \"f.py\":3:9])");
  EXPECT_EQ(toReadableText("loc(\"f.py\":3:4 to 5:2)"), "loc(fused<\"range\">[\"f.py\":3:5, \"f.py\":5:2])");
  EXPECT_EQ(toReadableText("loc(\"f.py\":3:4 to :4)"), "loc(fused<\"range\">[\"f.py\":3:5, \"f.py\":3:5])");
}

TEST(TextForm, OtherTextIsUnchanged) {
  for (const char *text :
       {"", "loc(\"f.py\":3:4)", "\"a \\\" b\":x", "loc(\"f.py\":3:4 to x)", "\"unterminated", "\"a\\",
        "\"f\":99999999999999999999:1 to :2", "dense<\"0x0A\"> : tensor<1xi8>", "\"0x\"> : tensor<3xi1>"})
    EXPECT_EQ(toReadableText(text), text);
}

TEST(TextForm, BoolsOfAByteAreBits) {
  EXPECT_EQ(toReadableText("dense<\"0x0100010101000000FF\"> : tensor<3x3xi1>"), "dense<\"0x1D01\"> : tensor<3x3xi1>");
  // Already a bit for each.
  EXPECT_EQ(toReadableText("dense<\"0x1D01\"> : tensor<3x3xi1>"), "dense<\"0x1D01\"> : tensor<3x3xi1>");
}

//===- Names --------------------------------------------------------------===//

TEST(Names, PathsOfJax) {
  EXPECT_EQ(nameOfPath("x"), "x");
  EXPECT_EQ(nameOfPath("p['w1']"), "p.w1");
  EXPECT_EQ(nameOfPath("p[0]['w'].scale"), "p.0.w.scale");
  EXPECT_EQ(nameOfPath("[1]['b-1']"), "1.b_1");
  EXPECT_EQ(nameOfPath("p['\xC3\xBC']['\xE5\xB1\xA4/1']"), "p.\xC3\xBC.\xE5\xB1\xA4_1");
  EXPECT_EQ(nameOfPath("p['\xC2\x9B\xFF\xC3']"), "p.___"); // A control character and invalid bytes.
  EXPECT_EQ(nameOfPath(""), "");
}

//===- ShardingTexts ------------------------------------------------------===//

TEST(ShardingTexts, ArgumentsResultsAndConstraints) {
  Source source("f.mlir", R"(module {
  sdy.mesh @mesh = <["a"=4, "b"=2]>
  func.func private @g(%arg0: tensor<8xf32>) -> tensor<8xf32>
  func.func public @main(%arg0: tensor<8x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"a", ?}p1, {}]>} loc("x")) -> (tensor<8xf32>, tensor<f32> {jax.result_info = "result[1]"}, tensor<8xf32> {jax.result_info = "result[2]", sdy.sharding = #sdy.sharding<@mesh, [{"a", "b"}], replicated={}>}) {
    %0 = sdy.sharding_constraint %arg0 <@mesh, [{}, {"b"}]> : tensor<8x4xf32>
    %1 = sdy.sharding_constraint %arg0 <@mesh, [{"a":(1)2}, {}]> : tensor<8x4xf32>
  }
})");
  ShardingTexts texts = findShardings(source, "main");
  ASSERT_EQ(texts.arguments.size(), 1u);
  ASSERT_TRUE(texts.arguments[0]);
  EXPECT_EQ(texts.arguments[0]->range.text(), "<@mesh, [{\"a\", ?}p1, {}]");
  EXPECT_EQ(texts.arguments[0]->label, "in_shardings of x");
  EXPECT_EQ(texts.arguments[0]->dims[0].whole.text(), "{\"a\", ?}p1");
  EXPECT_EQ(texts.arguments[0]->dims[0].priority, 1);
  EXPECT_TRUE(texts.arguments[0]->dims[0].isOpen);
  EXPECT_FALSE(texts.arguments[0]->dims[1].isOpen);
  ASSERT_EQ(texts.results.size(), 3u);
  EXPECT_FALSE(texts.results[0]);
  EXPECT_FALSE(texts.results[1]);
  ASSERT_TRUE(texts.results[2]);
  EXPECT_EQ(texts.results[2]->label, "out_shardings of result[2]");
  EXPECT_THAT(texts.results[2]->dims[0].axes, ElementsAre("a", "b"));
  ASSERT_EQ(texts.constraints.size(), 2u);
  EXPECT_EQ(writePartitionSpec(texts.constraints[0]->dims), "P(None, 'b')");
  EXPECT_FALSE(texts.constraints[1]); // A part of an axis.
  EXPECT_EQ(writeShardyDim({"a", "b"}, /*isOpen=*/true, 2), "{\"a\", \"b\", ?}p2");
  EXPECT_EQ(writeShardyDim({}, /*isOpen=*/false, -1), "{}");
}

// A part of an axis is a sharding, a scalar has none, and a mesh without axes is no mesh.
TEST(ShardingTexts, OpenOnesForArgumentsWithout) {
  auto open = [](std::string signature, const std::vector<spmd::MeshAxis> &axes) {
    Source source("f.mlir", "module @f {\n" + signature + "\n");
    return withOpenShardings(source, "main", axes);
  };
  std::string mesh = "  sdy.mesh @empty = <[]>\n  sdy.mesh @m = <[\"a\"=4]>\n";
  EXPECT_EQ(
      open(mesh + "func.func @main(%arg0: tensor<8x4xf32> loc(\"p['->{']\"), %arg1: tensor<f32>, %arg2: "
                  "tensor<?xcomplex<f32>> {jax.buffer_donor = true}, %arg3: tensor<8xf32> {sdy.sharding = "
                  "#sdy.sharding<@m, [{\"a\":(1)2}]>}) -> tensor<8xf32>",
           {{"a", 2}}),
      "module @f {\n" + mesh +
          "func.func @main(%arg0: tensor<8x4xf32> {sdy.sharding = #sdy.sharding<@m, [{?}, {?}]>} loc(\"p['->{']\"), "
          "%arg1: tensor<f32>, %arg2: tensor<?xcomplex<f32>> {jax.buffer_donor = true}, %arg3: tensor<8xf32> "
          "{sdy.sharding = #sdy.sharding<@m, [{\"a\":(1)2}]>}) -> tensor<8xf32>\n");
  EXPECT_EQ(open("func.func @main(%arg0: tensor<8xf32> {tf.aliasing_output = 0 : i32}) -> tensor<8xf32>",
                 {{"a", 2}, {"b", 3}}),
            "module @f {\n  sdy.mesh @spmdc_mesh = <[\"a\"=2, \"b\"=3]>\nfunc.func @main(%arg0: tensor<8xf32> "
            "{sdy.sharding = #sdy.sharding<@spmdc_mesh, [{?}]>, tf.aliasing_output = 0 : i32}) -> tensor<8xf32>\n");
  std::string alone = "func.func @main(%arg0: tensor<8xf32>) -> tensor<8xf32>";
  EXPECT_EQ(open(alone, {}), "module @f {\n" + alone + "\n");
}

TEST(ShardingTexts, AnyTextIsRead) {
  for (const char *text :
       {"", "func.func @main(", "func.func @main(%a: tensor<8xf32> {sdy.sharding = #sdy.sharding<@m, [{",
        "= sdy.sharding_constraint ", "= sdy.sharding_constraint %0 <@m, [{\"a", "func.func @main() -> (",
        "func.func @main(\"", "func.func @main(->", "module {\nfunc.func @main(%a: tensor<8x",
        "module {\nfunc.func @main(%a: tensor<8xf32> {", "sdy.mesh @", "module {\nsdy.mesh @m = <[\"a"}) {
    Source source("f.mlir", text);
    findShardings(source, "main");
    withOpenShardings(source, "main", {{"a", 2}});
  }
}

} // namespace
