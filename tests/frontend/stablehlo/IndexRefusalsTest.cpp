//===- IndexRefusalsTest.cpp - gathers and scatters that do not fit -------===//

#include "tests/frontend/stablehlo/RefusalsHelper.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

using namespace spmdc;
using ::testing::HasSubstr;

namespace {

/// A gather of rows of %y, whose indices are %i: i32[3, 1].
std::string gather(const std::string &dims, const std::string &sizes, const std::string &indices = "%i") {
  return importErrors(
      program("%i = stablehlo.iota dim = 0 : tensor<3x1xi32>\n%f = stablehlo.iota dim = 0 : tensor<3x1xf32>\n"
              "%0 = \"stablehlo.gather\"(%y, " +
              indices + ") <{dimension_numbers = #stablehlo.gather<" + dims + ">, slice_sizes = array<i64: " + sizes +
              ">}> : (tensor<8x4xf32>, tensor<3x1x" + (indices == "%f" ? "f32" : "i32") + ">) -> tensor<3x4xf32>"));
}

TEST(IndexRefusals, Gathers) {
  std::string good = "offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1";
  EXPECT_EQ(gather(good, "1, 4"), "");
  EXPECT_THAT(gather(good, "1, 4", "%f"), HasSubstr("has indices that are not integers"));
  std::string wrong = "has dimension numbers or slice sizes that do not fit its operands and its result";
  EXPECT_THAT(gather(good, "2, 4"), HasSubstr(wrong));
  EXPECT_THAT(gather(good, "1"), HasSubstr(wrong));
  for (const char *dims :
       {"offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [2], index_vector_dim = 1",
        "offset_dims = [7], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1",
        "offset_dims = [1], collapsed_slice_dims = [1], start_index_map = [0], index_vector_dim = 1",
        "offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 5",
        "offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0, 1], index_vector_dim = 1",
        "offset_dims = [1], operand_batching_dims = [0], start_indices_batching_dims = [0], start_index_map = [1], "
        "index_vector_dim = 1"})
    EXPECT_THAT(gather(dims, "1, 4"), HasSubstr(wrong)) << dims;
  EXPECT_THAT(
      importErrors(program(
          "%n0 = stablehlo.slice %y [0:0, 0:4] : (tensor<8x4xf32>) -> tensor<0x4xf32>\n%i = stablehlo.iota dim = 0 : "
          "tensor<3x1xi32>\n"
          "%0 = \"stablehlo.gather\"(%n0, %i) <{dimension_numbers = #stablehlo.gather<" +
          good + ">, slice_sizes = array<i64: 1, 4>}> : (tensor<0x4xf32>, tensor<3x1xi32>) -> tensor<3x4xf32>")),
      HasSubstr("takes windows from a dimension without elements"));
}

/// A scatter of rows into %y.
std::string scatter(const std::string &dims, const std::string &combine, const std::string &returned = "%c") {
  return importErrors(
      program("%i = stablehlo.iota dim = 0 : tensor<3x1xi32>\n%u = stablehlo.iota dim = 0 : tensor<3x4xf32>\n"
              "%0 = \"stablehlo.scatter\"(%y, %i, %u) <{scatter_dimension_numbers = #stablehlo.scatter<" +
              dims + ">}> ({\n^bb0(%a: tensor<f32>, %b: tensor<f32>):\n%c = stablehlo." + combine +
              " %a, %b : tensor<f32>\nstablehlo.return " + returned +
              " : tensor<f32>\n}) : (tensor<8x4xf32>, tensor<3x1xi32>, tensor<3x4xf32>) -> tensor<8x4xf32>"));
}

TEST(IndexRefusals, Scatters) {
  std::string good =
      "update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1";
  EXPECT_EQ(scatter(good, "add"), "");
  EXPECT_EQ(scatter(good, "add", "%b"), "");
  EXPECT_EQ(scatter(good, "maximum"), "");
  EXPECT_EQ(scatter(good, "multiply"), "");
  EXPECT_THAT(scatter(good, "power"),
              HasSubstr("changes elements at indices that may repeat, by a region that combines updates to other "
                        "values in another order; if the indices differ, say so by unique_indices=True"));
  EXPECT_EQ(scatter(good + ">, unique_indices = true, mark = #stablehlo.scatter<" + good, "power"), "");
  EXPECT_THAT(importErrors(program(
                  "%i = stablehlo.iota dim = 0 : tensor<3xi32>\n%u = stablehlo.iota dim = 0 : tensor<2x8x4xf32>\n"
                  "%j = stablehlo.iota dim = 0 : tensor<2x0xi32>\n"
                  "%0 = \"stablehlo.scatter\"(%y, %j, %u) <{scatter_dimension_numbers = "
                  "#stablehlo.scatter<update_window_dims = [1, 2], "
                  "index_vector_dim = 1>}> ({\n^bb0(%a: tensor<f32>, %b: tensor<f32>):\n%c = stablehlo.add %a, %b : "
                  "tensor<f32>\n"
                  "stablehlo.return %c : tensor<f32>\n}) : (tensor<8x4xf32>, tensor<2x0xi32>, tensor<2x8x4xf32>) -> "
                  "tensor<8x4xf32>")),
              HasSubstr("updates all of its operand several times; combine the updates first, as in x + y.sum(0)"));
  EXPECT_THAT(scatter("update_window_dims = [7], inserted_window_dims = [1], scatter_dims_to_operand_dims = [0], "
                      "index_vector_dim = 1",
                      "add"),
              HasSubstr("has dimension numbers that do not fit its operands and updates"));
  auto together = [&](const std::string &combine) {
    return importErrors(
        program("%i = stablehlo.iota dim = 0 : tensor<3x1xi32>\n%u = stablehlo.iota dim = 0 : tensor<3x4xf32>\n"
                "%0:2 = \"stablehlo.scatter\"(%y, %y, %i, %u, %u) <{scatter_dimension_numbers = #stablehlo.scatter<" +
                good + ">}> ({\n^bb0(%a: tensor<f32>, %b: tensor<f32>, %c: tensor<f32>, %d: tensor<f32>):\n" + combine +
                "stablehlo.return %e, %g : tensor<f32>, tensor<f32>\n}) : (tensor<8x4xf32>, tensor<8x4xf32>, "
                "tensor<3x1xi32>, tensor<3x4xf32>, tensor<3x4xf32>) -> (tensor<8x4xf32>, tensor<8x4xf32>)"));
  };
  EXPECT_EQ(together("%f = stablehlo.multiply %a, %d : tensor<f32>\n%e = stablehlo.add %f, %c : tensor<f32>\n"
                     "%g = stablehlo.multiply %b, %d : tensor<f32>\n"),
            "");
  EXPECT_THAT(together("%e = stablehlo.power %a, %d : tensor<f32>\n%g = stablehlo.add %b, %c : tensor<f32>\n"),
              HasSubstr("in another order"));
}

TEST(IndexRefusals, ScattersOfOtherTypes) {
  auto scatterOf = [](const std::string &operands, const std::string &region, const std::string &types) {
    return importErrors(
        program("%i = stablehlo.iota dim = 0 : tensor<3x1xi32>\n%u = stablehlo.iota dim = 0 : tensor<3xf32>\n"
                "%v = stablehlo.iota dim = 0 : tensor<3xi32>\n%0 = \"stablehlo.scatter\"(" +
                operands +
                ") <{scatter_dimension_numbers = #stablehlo.scatter<inserted_window_dims = [0], "
                "scatter_dims_to_operand_dims = [0], "
                "index_vector_dim = 1>, unique_indices = true}> ({\n" +
                region + "\n}) : " + types));
  };
  std::string sum = "^bb0(%a: tensor<f32>, %b: tensor<f32>):\n%c = stablehlo.add %a, %b : "
                    "tensor<f32>\nstablehlo.return %c : tensor<f32>";
  std::string three = "(tensor<8xf32>, tensor<3x1xi32>, tensor<3xf32>) -> tensor<8xf32>";
  EXPECT_EQ(scatterOf("%x, %i, %u", sum, three), "");
  EXPECT_THAT(scatterOf("%x, %i, %v", sum, "(tensor<8xf32>, tensor<3x1xi32>, tensor<3xi32>) -> tensor<8xf32>"),
              HasSubstr("has updates, results or a region that do not fit its operands"));
  EXPECT_THAT(scatterOf("%x, %i, %u",
                        "^bb0(%a: tensor<f32>, %b: tensor<f32>):\n%c = stablehlo.convert %b : (tensor<f32>) -> "
                        "tensor<i32>\nstablehlo.return %c : tensor<i32>",
                        three),
              HasSubstr("has a region whose result is not of the type of its operand"));
  EXPECT_THAT(importErrors(
                  program("%i = stablehlo.iota dim = 0 : tensor<3x1xi32>\n%u = stablehlo.iota dim = 0 : tensor<3xf32>\n"
                          "%0:2 = \"stablehlo.scatter\"(%x, %y, %i, %u, %u) <{scatter_dimension_numbers = "
                          "#stablehlo.scatter<inserted_window_dims = [0], "
                          "scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}> ({\n^bb0(%a: tensor<f32>, %b: "
                          "tensor<f32>, %c: tensor<f32>, %d: tensor<f32>):\n"
                          "stablehlo.return %c, %d : tensor<f32>, tensor<f32>\n}) : (tensor<8xf32>, tensor<8x4xf32>, "
                          "tensor<3x1xi32>, tensor<3xf32>, tensor<3xf32>) -> "
                          "(tensor<8xf32>, tensor<8x4xf32>)")),
              HasSubstr("has operands or updates of different shapes"));
}

} // namespace
