//===- RegionRefusalsTest.cpp - messages about reductions by regions -----====//

#include "tests/frontend/stablehlo/RefusalsHelper.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

using namespace spmdc;
using ::testing::HasSubstr;

namespace {

/// A reduction of %x by a region of these lines, which has %a and %b.
std::string reduceBy(const std::string &region, const std::string &type = "f32") {
  return importErrors(program("%z = stablehlo.constant dense<0.0> : tensor<f32>\n"
                              "%0 = stablehlo.reduce(%x init: %z) across dimensions = [0] : (tensor<8xf32>, "
                              "tensor<f32>) -> tensor<f32>\n reducer(%a: tensor<" +
                                  type + ">, %b: tensor<" + type + ">) {\n" + region + "\n}",
                              "func.func private @again(%p: tensor<f32>) -> tensor<f32> {\n%0 = func.call @again(%p) : "
                              "(tensor<f32>) -> tensor<f32>\nreturn %0 : tensor<f32>\n}\n"));
}

TEST(RegionRefusals, Reductions) {
  EXPECT_EQ(reduceBy("%c = stablehlo.subtract %a, %b : tensor<f32>\nstablehlo.return %c : tensor<f32>"), "");
  EXPECT_THAT(
      reduceBy("%w = stablehlo.broadcast_in_dim %a, dims = [] : (tensor<f32>) -> tensor<2xf32>\n"
               "stablehlo.return %b : tensor<f32>"),
      HasSubstr("combines elements by a region with 'stablehlo.broadcast_in_dim', which is not computed element "
                "by element; choose by jnp.where or jax.lax.select"));
  EXPECT_THAT(reduceBy("%c = func.call @again(%a) : (tensor<f32>) -> tensor<f32>\nstablehlo.return %c : tensor<f32>"),
              HasSubstr("combines elements by a region with 'func.call'"));
  EXPECT_THAT(reduceBy("stablehlo.return %a, %b : tensor<f32>, tensor<f32>"),
              HasSubstr("has a region that does not take and give two elements of each of its arrays"));
  EXPECT_THAT(reduceBy("stablehlo.return %a : tensor<i32>", "i32"),
              HasSubstr("has a region that does not take and give two elements of each of its arrays"));
  EXPECT_THAT(reduceBy("stablehlo.return %a : tensor<2xf32>", "2xf32"),
              HasSubstr("combines elements by a region with 'stablehlo.reduce'"));
}

TEST(RegionRefusals, Maps) {
  auto map = [](const std::string &region, const std::string &arguments = "%a: tensor<f32>, %b: tensor<f32>",
                const std::string &result = "8xf32") {
    return importErrors(program("%0 = \"stablehlo.map\"(%x, %x) <{dimensions = array<i64: 0>}> ({\n^bb0(" + arguments +
                                "):\n" + region + "\n}) : (tensor<8xf32>, tensor<8xf32>) -> tensor<" + result + ">"));
  };
  EXPECT_EQ(map("stablehlo.return %a : tensor<f32>"), "");
  EXPECT_THAT(map("%w = stablehlo.broadcast_in_dim %a, dims = [] : (tensor<f32>) -> tensor<2xf32>\n"
                  "stablehlo.return %b : tensor<f32>"),
              HasSubstr("maps elements by a region with 'stablehlo.broadcast_in_dim', which is not computed element by "
                        "element; choose by jnp.where or jax.lax.select"));
  const char *types = "has a region that does not take an element of each array and give one of its result";
  EXPECT_THAT(map("stablehlo.return %a : tensor<f32>", "%a: tensor<f32>"), HasSubstr(types));
  EXPECT_THAT(map("stablehlo.return %a : tensor<i32>", "%a: tensor<i32>, %b: tensor<f32>"), HasSubstr(types));
  EXPECT_THAT(map("stablehlo.return %a : tensor<8xf32>", "%a: tensor<8xf32>, %b: tensor<f32>"), HasSubstr(types));
  EXPECT_THAT(map("stablehlo.return %a : tensor<f32>", "%a: tensor<f32>, %b: tensor<f32>", "9xf32"), HasSubstr(types));
}

TEST(RegionRefusals, Windows) {
  auto window = [](const std::string &sizes) {
    return importErrors(program("%z = stablehlo.constant dense<0.0> : tensor<f32>\n"
                                "%0 = \"stablehlo.reduce_window\"(%x, %z) <{window_dimensions = array<i64: " +
                                sizes +
                                ">}> ({\n^bb0(%a: tensor<f32>, %b: tensor<f32>):\n%c = stablehlo.subtract %a, %b : "
                                "tensor<f32>\nstablehlo.return %c : tensor<f32>\n}) : (tensor<8xf32>, tensor<f32>) -> "
                                "tensor<7xf32>"));
  };
  EXPECT_EQ(window("2"), "");
  EXPECT_THAT(window("2, 2"), HasSubstr("has a window that does not fit its operands"));
  EXPECT_THAT(window("3"), HasSubstr("has the result 'tensor<7xf32>', but its operands give f32[6]"));
}

} // namespace
