//===- LinearRefusalsTest.cpp - messages about linear algebra ------------====//

#include "tests/frontend/stablehlo/RefusalsHelper.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

using namespace spmdc;
using ::testing::HasSubstr;

namespace {

TEST(LinearRefusals, Operations) {
  EXPECT_THAT(importErrors(program("%0 = stablehlo.cholesky %y, lower = true : tensor<8x4xf32>")),
              HasSubstr("'stablehlo.cholesky' factors a matrix that is not square"));
  EXPECT_THAT(importErrors(program("%0 = stablehlo.cholesky %n, lower = true : tensor<i32>")),
              HasSubstr("'stablehlo.cholesky' takes matrices of floats"));
  auto solve = [](const std::string &operands) {
    return importErrors(program("%s = stablehlo.slice %y [0:4, 0:4] : (tensor<8x4xf32>) -> tensor<4x4xf32>\n"
                                "%t = stablehlo.reshape %s : (tensor<4x4xf32>) -> tensor<1x4x4xf32>\n"
                                "%0 = \"stablehlo.triangular_solve\"(" +
                                operands.substr(0, 6) +
                                ") <{left_side = true, lower = true, transpose_a = #stablehlo<transpose NO_TRANSPOSE>, "
                                "unit_diagonal = false}> : (" +
                                operands.substr(6)));
  };
  EXPECT_EQ(solve("%s, %stensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>"), "");
  EXPECT_THAT(solve("%y, %ytensor<8x4xf32>, tensor<8x4xf32>) -> tensor<8x4xf32>"),
              HasSubstr("has a matrix that is not square, or of another size than its right sides"));
  EXPECT_THAT(solve("%s, %ytensor<4x4xf32>, tensor<8x4xf32>) -> tensor<8x4xf32>"),
              HasSubstr("has a matrix that is not square, or of another size than its right sides"));
  EXPECT_THAT(solve("%t, %stensor<1x4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>"),
              HasSubstr("has operands of different batches"));
}

TEST(LinearRefusals, Lapack) {
  auto call = [](const std::string &text) {
    return importErrors(program("%0 = stablehlo.custom_call @lapack_" + text));
  };
  EXPECT_THAT(call("sgetrf_ffi(%x) {output_operand_aliases = [#stablehlo.output_operand_alias<output_tuple_indices = "
                   "[0], operand_index = 0, operand_tuple_indices = []>], sdy.sharding_rule = "
                   "#sdy.op_sharding_rule<([i, j])->([i, kl]) {i=8, j=4, k=2, l=2} reduction={j}, custom>} : "
                   "(tensor<8xf32>) -> tensor<8xf32>"),
              HasSubstr("calls 'lapack_sgetrf_ffi' with 1 operands and 1 results"));
  EXPECT_THAT(
      call("sgges_ffi(%y) : (tensor<8x4xf32>) -> tensor<8x4xf32>"),
      HasSubstr(
          "calls 'lapack_sgges_ffi', compiled code of JAX's libraries or of jax.ffi that an export does not contain"));
  EXPECT_THAT(call("sorgqr_ffi(%y, %x) : (tensor<8x4xf32>, tensor<8xf32>) -> tensor<8x4xf32>"),
              HasSubstr("has more reflections than columns, or more columns than rows"));
  EXPECT_THAT(call("strsm_ffi(%y, %y) : (tensor<8x4xf32>, tensor<8x4xf32>) -> tensor<8x4xf32>"),
              HasSubstr("has a matrix that is not square, or of another size than its right sides"));
  EXPECT_NE(call("sgetrf_ffi(%x) {sdy.sharding_rule = #sdy.op_sharding_rule<[i]?>} : (tensor<8xf32>) -> tensor<8xf32>"),
            "");
  EXPECT_THAT(importErrors(program("%0 = stablehlo.custom_call @cu_lu_pivots_to_permutation(%x) : (tensor<8xf32>) -> "
                                   "tensor<8xi32>")),
              HasSubstr("has other pivots than an i32 for each row, or for the first rows"));
  EXPECT_THAT(call("sgetrf(%x) : (tensor<8xf32>) -> tensor<8xf32>"),
              HasSubstr("calls 'lapack_sgetrf', compiled code of"));
  auto square = [](const std::string &text) {
    return importErrors(program("%0:2 = stablehlo.custom_call @lapack_" + text));
  };
  EXPECT_THAT(square("spotrf_ffi(%y) : (tensor<8x4xf32>) -> (tensor<8x4xf32>, tensor<i32>)"),
              HasSubstr("factors a matrix that is not square"));
}

TEST(LinearRefusals, FormsOfMatrices) {
  std::string square =
      "%s = stablehlo.slice %y [0:4, 0:4] : (tensor<8x4xf32>) -> tensor<4x4xf32>\n"
      "%p = stablehlo.iota dim = 0 : tensor<4xi32>\n%v = stablehlo.slice %x [0:4] : (tensor<8xf32>) -> "
      "tensor<4xf32>\n%w = stablehlo.slice %x [0:3] : (tensor<8xf32>) -> tensor<3xf32>\n";
  auto call = [&](const std::string &text) { return importErrors(program(square + text)); };
  EXPECT_THAT(
      call("%0:3 = stablehlo.custom_call @lapack_sgeqp3_ffi(%s, %p) : (tensor<4x4xf32>, tensor<4xi32>) -> "
           "(tensor<4x4xf32>, tensor<4xi32>, tensor<4xf32>)"),
      HasSubstr("factors a matrix with columns that are to be the first ones; only zeros are supported, any order "
                "of all columns"));
  EXPECT_THAT(call("%0 = stablehlo.custom_call @lapack_sormqr_ffi(%s, %v, %y) {mhlo.backend_config = {left = true, "
                   "transpose = false}} : (tensor<4x4xf32>, tensor<4xf32>, tensor<8x4xf32>) -> tensor<8x4xf32>"),
              HasSubstr("has more reflections than columns, or a matrix of another size"));
  EXPECT_THAT(
      call("%0:3 = stablehlo.custom_call @lapack_sgehrd_ffi(%s) {mhlo.backend_config = {low = 2 : i32, high = 4 "
           ": i32}} : (tensor<4x4xf32>) -> (tensor<4x4xf32>, tensor<3xf32>, tensor<i32>)"),
      HasSubstr("reduces a part of a matrix, which is not supported; reduce all of it"));
  EXPECT_THAT(call("%0:6 = stablehlo.custom_call @lapack_sgees_ffi(%s) {mhlo.backend_config = {mode = 86 : ui8, sort = "
                   "83 : ui8}} : (tensor<4x4xf32>) -> (tensor<4x4xf32>, tensor<4x4xf32>, tensor<4xf32>, tensor<4xf32>, "
                   "tensor<i32>, tensor<i32>)"),
              HasSubstr("sorts eigenvalues by a function of the runtime; leave out 'sort'"));
  for (auto [routine, results] : {std::pair("geev_ffi", 5), {"gehrd_ffi", 3}, {"gees_ffi", 6}}) {
    std::string types = "tensor<8x4xf32>";
    for (int i = 1; i < results; ++i)
      types += ", tensor<8x4xf32>";
    EXPECT_THAT(importErrors(program("%0:" + std::to_string(results) + " = stablehlo.custom_call @lapack_s" + routine +
                                     "(%y) : (tensor<8x4xf32>) -> (" + types + ")")),
                HasSubstr("factors a matrix that is not square"));
  }
  EXPECT_THAT(call("%z = stablehlo.complex %s, %s : tensor<4x4xcomplex<f32>>\n%0 = stablehlo.custom_call "
                   "@lapack_ctrsm_ffi(%z, %s) : (tensor<4x4xcomplex<f32>>, tensor<4x4xf32>) -> tensor<4x4xf32>"),
              HasSubstr("has operands or results that are not complex beside complex ones"));
  EXPECT_THAT(call("%z = stablehlo.complex %s, %s : tensor<4x4xcomplex<f32>>\n%0:5 = stablehlo.custom_call "
                   "@lapack_cgesdd_ffi(%z) : (tensor<4x4xcomplex<f32>>) -> (tensor<4x4xf32>, tensor<4xf32>, "
                   "tensor<4x4xf32>, tensor<4x4xf32>, tensor<i32>)"),
              HasSubstr("has operands or results that are not complex beside complex ones"));
  EXPECT_EQ(call("%0 = stablehlo.custom_call @lapack_strsm_ffi(%s, %s) {spmdc.complex_operands = array<i1: true, true, "
                 "true>} : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>"),
            "");
  EXPECT_THAT(call("%0:5 = stablehlo.custom_call @lapack_sgtsv_ffi(%w, %v, %v, %s) : (tensor<3xf32>, tensor<4xf32>, "
                   "tensor<4xf32>, tensor<4x4xf32>) -> (tensor<3xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4x4xf32>, "
                   "tensor<i32>)"),
              HasSubstr("has diagonals of other sizes than its right sides"));
}

} // namespace
