//===- RefusalsTest.cpp - messages about exported programs ----------------===//
//
// Each program is one that cannot be imported, with the message: the operation, the cause, and a remedy where one
// exists.
//
//===----------------------------------------------------------------------===//

#include "tests/frontend/stablehlo/RefusalsHelper.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

using namespace spmdc;
using ::testing::HasSubstr;

namespace {

TEST(Refusals, AProgramIsImported) {
  EXPECT_EQ(importErrors(program("%0 = stablehlo.add %x, %x : tensor<8xf32>")), "");
}

TEST(Refusals, TypesThatNoArrayHas) {
  EXPECT_THAT(
      importErrors(program("%0 = stablehlo.convert %x : (tensor<8xf32>) -> tensor<8xi3>")),
      HasSubstr("'stablehlo.convert' has elements of type 'i3', which is not supported; use one of f64 f32 bf16 "
                "f16 i64 i32 i16 i8 u64 u32 u16 u8 bool f8E4M3FN f8E5M2 f8E4M3 f8E4M3FNUZ f8E5M2FNUZ f8E4M3B11FNUZ "
                "f8E3M4 f8E8M0FNU f4E2M1FN i4 u4 "
                "i2 u2 complex<f32> complex<f64>"));
  EXPECT_THAT(importErrors(program("%0 = stablehlo.custom_call @f(%x) : (tensor<8xf32>) -> vector<8xf32>")),
              HasSubstr("has a value of type 'vector<8xf32>'; only arrays are supported"));
  EXPECT_THAT(importErrors(program("%0 = stablehlo.convert %x : (tensor<8xf32>) -> tensor<8xcomplex<f16>>")),
              HasSubstr("has elements of type 'complex<f16>'"));
  EXPECT_THAT(
      importErrors(program("%0 = stablehlo.convert %x : (tensor<8xf32>) -> tensor<?xf32>")),
      HasSubstr("the program has dynamic shapes such as tensor<?xf32>; export it with concrete shapes: "
                "jax.export.export(f)(jax.ShapeDtypeStruct((8, 4), x.dtype)), without jax.export.symbolic_shape"));
  EXPECT_THAT(importErrors("func.func @main(%x: tensor<2x?x4xf32>) { stablehlo.get_dimension_size %x, dim = 1 }"),
              HasSubstr("the program has dynamic shapes such as tensor<2x?x4xf32>; "));
  EXPECT_THAT(importErrors("func.func @main(%x: !stablehlo.token) { }"),
              HasSubstr("the program orders its effects by tokens, which is not supported; export it without ordered "
                        "effects: jax.debug.print without ordered=True"));
  EXPECT_THAT(importErrors(program("%0 = stablehlo.broadcast_in_dim %n, dims = [] : (tensor<i32>) -> "
                                   "tensor<4294967296x4294967296xi32>")),
              HasSubstr("has an array that is too large: "));
  EXPECT_THAT(
      importErrors("func.func @main(%x: tensor<8xui128>) -> tensor<8xui128> { \"stablehlo.return\"() : () -> () }"),
      HasSubstr("has elements of type 'ui128'"));
}

TEST(Refusals, NarrowNumbers) {
  EXPECT_THAT(importErrors(program("%0 = stablehlo.convert %x : (tensor<8xf32>) -> tensor<8xf6E2M3FN>")),
              HasSubstr("the program has elements of type 'f6E2M3FN', which is not supported; use one of "
                        "f8E4M3FN f8E5M2 "));
  EXPECT_THAT(importErrors(program("%0 = stablehlo.convert %x : (tensor<8xf32>) -> tensor<9xf8E5M2>")),
              HasSubstr("'stablehlo.convert' has the result 'tensor<9xf8E5M2>', but its operands give another shape"));
  EXPECT_THAT(importErrors(program("%0 = stablehlo.bitcast_convert %n : (tensor<i32>) -> tensor<7xi4>")),
              HasSubstr("needs a last dimension of 8 elements, the parts of a wider one"));
  EXPECT_THAT(
      importErrors(program("%0 = stablehlo.compare LT, %x, %x : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xi1>\n"
                           "%1 = stablehlo.bitcast_convert %0 : (tensor<8xi1>) -> tensor<2xi4>")),
      HasSubstr("changes the width of bools, which is not supported; compare with zero instead"));
  EXPECT_THAT(importErrors(program("%0 = \"stablehlo.constant\"() <{value = dense<1.0> : tensor<8xf32>}> : () -> "
                                   "tensor<8xf8E5M2>")),
              HasSubstr("has a value of another type than 'tensor<8xf8E5M2>', or one that is not in the text"));
}

TEST(Refusals, OperationsWithoutTranslation) {
  EXPECT_THAT(importErrors(program("%0 = builtin.unrealized_conversion_cast %x : tensor<8xf32> to tensor<8xf32>")),
              HasSubstr("'builtin.unrealized_conversion_cast' has no translation yet; write it with other operations "
                        "of jax.numpy or jax.lax"));
  EXPECT_THAT(importErrors(program("%0 = stablehlo.custom_call @lapack_spotrf(%x) : (tensor<8xf32>) -> tensor<8xf32>")),
              HasSubstr("calls 'lapack_spotrf', compiled code of JAX's libraries or of jax.ffi that an export does not "
                        "contain; compute it "
                        "outside of the exported function"));
  for (auto [call, message] : std::vector<std::pair<const char *, const char *>>{
           {"xla_ffi_python_gpu_callback",
            "calls back into Python ('xla_ffi_python_gpu_callback'), whose code an export does not contain; compute "
            "jax.pure_callback and io_callback outside of the exported function, and export checks of Equinox "
            "(eqx.error_if) as NaNs: EQX_ON_ERROR=nan"},
           {"CustomSPMDPartitioning", "is a function of custom_partitioning, which an export only names; export the "
                                      "function that custom_partitioning takes, itself"},
           {"ragged_all_to_all", "is lax.ragged_all_to_all, which has no translation yet; pad the slices to one size "
                                 "and use lax.all_to_all"}})
    EXPECT_THAT(importErrors(program("%0 = stablehlo.custom_call @" + std::string(call) +
                                     "(%x) : (tensor<8xf32>) -> tensor<8xf32>")),
                HasSubstr(message));
  EXPECT_THAT(importErrors(program("%0 = stablehlo.custom_call @Sharding(%x) : (tensor<8xf32>) -> tensor<8xf32>")),
              HasSubstr("'Sharding' has no sharding in 'mhlo.sharding', or not one array"));
  EXPECT_THAT(importErrors(program("%0 = stablehlo.frobnicate %x : tensor<8xf32>")), HasSubstr("stablehlo.frobnicate"));
}

TEST(Refusals, CallsWithoutResultsAreLeftOut) {
  EXPECT_EQ(importWarnings(program("stablehlo.custom_call @xla_ffi_python_cpu_callback(%x) {has_side_effect = true} : "
                                   "(tensor<8xf32>) -> ()")),
            "'stablehlo.custom_call' of 'xla_ffi_python_cpu_callback' is left out: its code, as that of "
            "jax.debug.print and jax.debug.callback, is not in the export, and no result depends on it\n");
}

struct Wrong {
  const char *lines, *message;
};

TEST(Refusals, ShapesThatDoNotFit) {
  for (auto [lines, message] : std::vector<Wrong>{
           {"%0 = stablehlo.reshape %x : (tensor<8xf32>) -> tensor<9xf32>", "changes the number of elements"},
           {"%0 = stablehlo.transpose %y, dims = [0, 0] : (tensor<8x4xf32>) -> tensor<8x8xf32>",
            "has no permutation of its operand's dimensions"},
           {"%0 = stablehlo.transpose %y, dims = [1] : (tensor<8x4xf32>) -> tensor<4xf32>",
            "has no permutation of its operand's dimensions"},
           {"%0 = stablehlo.transpose %y, dims = [1, 0] : (tensor<8x4xf32>) -> tensor<8x4xf32>",
            "has the result 'tensor<8x4xf32>', but its operands give f32[4, 8]"},
           {"%0 = stablehlo.reverse %y, dims = [2] : tensor<8x4xf32>", "names other dimensions than its operand has"},
           {"%0 = stablehlo.broadcast_in_dim %x, dims = [7] : (tensor<8xf32>) -> tensor<8x4xf32>",
            "names other dimensions than its types have"},
           {"%0 = stablehlo.broadcast_in_dim %x, dims = [1] : (tensor<8xf32>) -> tensor<8x4xf32>",
            "repeats a dimension of 8 elements to 4"},
           {"%0 = stablehlo.slice %x [2:9] : (tensor<8xf32>) -> tensor<7xf32>", "takes 2 to 9 of 8 elements"},
           {"%0 = stablehlo.slice %x [4:2] : (tensor<8xf32>) -> tensor<2xf32>", "takes 4 to 2 of 8 elements"},
           {"%0 = stablehlo.slice %x [2:4, 0:1] : (tensor<8xf32>) -> tensor<2xf32>",
            "has another number of ranges than its operand has dimensions"},
           {"%0 = stablehlo.iota dim = 3 : tensor<8xf32>", "counts along a dimension that its result does not have"},
           {"%0 = stablehlo.concatenate %x, %y, dim = 0 : (tensor<8xf32>, tensor<8x4xf32>) -> tensor<8xf32>",
            "has operands of different shapes"},
           {"%0 = stablehlo.concatenate %x, dim = 4 : (tensor<8xf32>) -> tensor<8xf32>",
            "has no operands, or no such dimension"},
           {"%0 = stablehlo.dynamic_slice %y, %n, sizes = [1, 1] : (tensor<8x4xf32>, tensor<i32>) -> tensor<1x1xf32>",
            "has other starts or sizes than its operand has dimensions"},
           {"%0 = stablehlo.dynamic_slice %x, %n, sizes = [9] : (tensor<8xf32>, tensor<i32>) -> tensor<9xf32>",
            "has other starts or sizes than its operand has dimensions"},
           {"%0 = stablehlo.dynamic_update_slice %x, %y, %n : (tensor<8xf32>, tensor<8x4xf32>, tensor<i32>) -> "
            "tensor<8xf32>",
            "has an update or starts that do not fit its operand"},
           {"%0 = stablehlo.dot_general %x, %y, contracting_dims = [0] x [1] : (tensor<8xf32>, tensor<8x4xf32>) -> "
            "tensor<8xf32>",
            "pairs dimensions of 8 and 4 elements"},
           {"%0 = stablehlo.dot_general %x, %y, contracting_dims = [5] x [0] : (tensor<8xf32>, tensor<8x4xf32>) -> "
            "tensor<4xf32>",
            "names other dimensions than its operands have"},
           {"%0 = stablehlo.dot_general %x, %y, contracting_dims = [0] x [0] : (tensor<8xf32>, tensor<8x4xf32>) -> "
            "tensor<5xf32>",
            "but its operands give f32[4]"},
           {"%0 = stablehlo.reduce(%y init: %x) applies stablehlo.add across dimensions = [0] : (tensor<8x4xf32>, "
            "tensor<8xf32>) -> tensor<4xf32>",
            "has dimensions that do not fit its operands"},
           {"%0 = stablehlo.reduce(%y init: %z) applies stablehlo.add across dimensions = [2] : (tensor<8x4xf32>, "
            "tensor<f32>) -> tensor<4xf32>",
            "has dimensions that do not fit its operands"},
           {"%0 = stablehlo.pad %x, %z, low = [1, 1], high = [0, 0], interior = [0, 0] : (tensor<8xf32>, tensor<f32>) "
            "-> tensor<9xf32>",
            "has other paddings than its operand has dimensions"},
           {"%0 = stablehlo.pad %x, %z, low = [1], high = [0], interior = [-1] : (tensor<8xf32>, tensor<f32>) -> "
            "tensor<9xf32>",
            "has other paddings than its operand has dimensions"},
           {"%0 = stablehlo.convolution(%y, %y) dim_numbers = [b, 0, f]x[0, i, o]->[b, 0, f], window = {} : "
            "(tensor<8x4xf32>, tensor<8x4xf32>) -> tensor<8x4xf32>",
            "has layouts or window entries that do not fit its operands"},
           {"%0 = stablehlo.convolution(%y, %y) dim_numbers = [b, f]x[i, i]->[b, f], window = {} : (tensor<8x4xf32>, "
            "tensor<8x4xf32>) -> tensor<8x4xf32>",
            "has layouts or window entries that do not fit its operands"},
           {"%0 = stablehlo.convolution(%y, %y) dim_numbers = [b, f]x[i, o]->[b, f], window = {} : (tensor<8x4xf32>, "
            "tensor<8x4xf32>) -> tensor<8x4xf32>",
            "has channels or groups that do not fit its operands"},
           {"%0 = stablehlo.convolution(%w, %w) dim_numbers = [b, 0, f]x[0, i, o]->[b, 0, f], window = {stride = [0]} "
            ": (tensor<1x8000x1xf32>, tensor<1x8000x1xf32>) -> tensor<1x1x1xf32>",
            "has a stride or dilation below 1, or one that is larger than any array"},
           {"%0 = stablehlo.convolution(%w, %w) dim_numbers = [b, 0, f]x[0, i, o]->[b, 0, f], window = {rhs_dilate = "
            "[9223372036854775807]} : (tensor<1x8000x1xf32>, tensor<1x8000x1xf32>) -> tensor<1x1x1xf32>",
            "has a stride or dilation below 1, or one that is larger than any array"},
           {"%0 = stablehlo.convolution(%w, %w) dim_numbers = [b, 0, f]x[0, i, o]->[b, 0, f], window = {pad = "
            "[[9223372036854775807, 0]]} : (tensor<1x8000x1xf32>, tensor<1x8000x1xf32>) -> tensor<1x1x1xf32>",
            "pads an array to more elements than any memory holds"},
           {"%0 = stablehlo.convolution(%w, %w) dim_numbers = [b, 0, f]x[0, i, o]->[b, 0, f], window = {lhs_dilate = "
            "[1152921504606846976]} : (tensor<1x8000x1xf32>, tensor<1x8000x1xf32>) -> tensor<1x1x1xf32>",
            "has a stride or dilation below 1, or one that is larger than any array"},
           {"%0 = stablehlo.convolution(%w, %w) dim_numbers = [b, 0, f]x[i, 0, o]->[b, 0, f], window = {lhs_dilate = "
            "[4503599627370496]} : (tensor<1x8000x1xf32>, tensor<1x8000x1xf32>) -> tensor<1x1x1xf32>",
            "pads an array to more elements than any memory holds"},
           {"%0 = stablehlo.pad %x, %z, low = [9223372036854775807], high = [9223372036854775807], interior = [0] : "
            "(tensor<8xf32>, tensor<f32>) -> tensor<9xf32>",
            "pads an array to more elements than any memory holds"},
           {"%0 = stablehlo.pad %x, %z, low = [0], high = [0], interior = [4611686018427387904] : (tensor<8xf32>, "
            "tensor<f32>) -> tensor<9xf32>",
            "pads an array to more elements than any memory holds"},
           {"%0 = stablehlo.convolution(%w, %w) dim_numbers = [b, 0, f]x[i, 0, o]->[b, 0, f], window = {pad = "
            "[[4096, 4096]]} : (tensor<1x8000x1xf32>, tensor<1x8000x1xf32>) -> tensor<1x8193x1xf32>",
            "has more than 4096 taps and more than 4096 places; write it as a product of Fourier transforms or of "
            "patches"},
           {"%0 = stablehlo.reduce_precision %x, format = e0m3 : tensor<8xf32>",
            "takes floats, and a format of at least one bit of exponent"},
           {"%0 = chlo.next_after %n, %n : tensor<i32>, tensor<i32> -> tensor<i32>", "takes two floats of one type"},
           {"%0 = stablehlo.custom_call @ApproxTopK(%x, %x) {mhlo.backend_config = {reduction_dim = 0 : i64}} : "
            "(tensor<8xf32>, tensor<8xf32>) -> tensor<3xf32>",
            "'ApproxTopK' has a dimension, a comparator or results that do not fit its operands"},
           {"%0 = stablehlo.bitcast_convert %x : (tensor<8xf32>) -> tensor<4xf64>",
            "needs a last dimension of 2 elements, the parts of a wider one"},
           {"%0 = stablehlo.bitcast_convert %x : (tensor<8xf32>) -> tensor<8xi8>",
            "needs a last dimension of 4 elements, the parts of a wider one"},
           {"%0 = stablehlo.bitcast_convert %x : (tensor<8xf32>) -> tensor<8x32xi1>",
            "changes the width of bools, which is not supported; compare with zero instead"},
           {"%0 = stablehlo.compare XX, %x, %x : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xi1>",
            "has no direction 'XX'"},
           {"%0 = chlo.erfc %n : tensor<i32> -> tensor<i32>", "takes floats"},
           {"%v, %i = chlo.top_k(%x, k = 9) : tensor<8xf32> -> (tensor<9xf32>, tensor<9xi32>)",
            "takes more elements than its last dimension has, or has results of other types"},
           {"%b = stablehlo.broadcast_in_dim %z, dims = [] : (tensor<f32>) -> tensor<3000000000xf32>\n%v, %i = "
            "chlo.top_k(%b, k = 9) : tensor<3000000000xf32> -> (tensor<9xf32>, tensor<9xi32>)",
            "has positions that do not fit into its i32 indices; split the dimension"},
           {"%0:2 = \"stablehlo.optimization_barrier\"(%x) : (tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>)",
            "has 2 results, but its operands give 1"},
           {"%0 = func.call @missing(%x) : (tensor<8xf32>) -> tensor<8xf32>", "'missing'"},
           {"%0 = \"stablehlo.sort\"(%x) <{dimension = 1 : i64}> ({\n^bb0(%a: tensor<f32>, %b: tensor<f32>):\n%c = "
            "stablehlo.compare LT, %a, %b : (tensor<f32>, tensor<f32>) -> tensor<i1>\nstablehlo.return %c : "
            "tensor<i1>\n}) : (tensor<8xf32>) -> tensor<8xf32>",
            "has arrays of different shapes, or sorts along a dimension that they do not have"},
           {"%0 = \"stablehlo.sort\"(%x) <{dimension = 0 : i64}> ({\n^bb0(%a: tensor<f32>):\n%c = stablehlo.compare "
            "LT, %a, %a : (tensor<f32>, tensor<f32>) -> tensor<i1>\nstablehlo.return %c : tensor<i1>\n}) : "
            "(tensor<8xf32>) -> tensor<8xf32>",
            "has a comparator that is not an ascending or descending order by some of its arrays; use jax.lax.sort, "
            "jnp.sort or jnp.lexsort"},
           {"%0 = \"stablehlo.sort\"(%x) <{dimension = 0 : i64}> ({\n^bb0(%a: tensor<f32>, %b: tensor<f32>):\n%s = "
            "stablehlo.sine %a : tensor<f32>\n%c = stablehlo.compare LT, %s, %b : (tensor<f32>, tensor<f32>) -> "
            "tensor<i1>\nstablehlo.return %c : tensor<i1>\n}) : (tensor<8xf32>) -> tensor<8xf32>",
            "has a comparator that is not an ascending or descending order by some of its arrays; use jax.lax.sort, "
            "jnp.sort or jnp.lexsort"},
           {"%0 = \"stablehlo.case\"(%x) ({\nstablehlo.return %x : tensor<8xf32>\n}) : (tensor<8xf32>) -> "
            "tensor<8xf32>",
            "chooses by an array, or has no branch"},
           {"%0 = \"stablehlo.case\"(%n) ({\nstablehlo.return %n : tensor<i32>\n}) : (tensor<i32>) -> tensor<8xf32>",
            "has branches that do not fit its results"},
           {"%0 = stablehlo.while(%c = %x) : tensor<8xf32> cond {\nstablehlo.return %c, %c : tensor<8xf32>, "
            "tensor<8xf32>\n} do {\nstablehlo.return %c : tensor<8xf32>\n}",
            "has regions that do not fit its operands"},
       })
    EXPECT_THAT(
        importErrors(program(
            std::string("%z = stablehlo.constant dense<0.0> : tensor<f32>\n"
                        "%w = stablehlo.broadcast_in_dim %z, dims = [] : (tensor<f32>) -> tensor<1x8000x1xf32>\n") +
            lines)),
        HasSubstr(message))
        << lines;
}

TEST(Refusals, CallsThatDoNotFit) {
  EXPECT_THAT(importErrors(program(
                  "%0 = stablehlo.composite \"f\" %x {decomposition = @missing} : (tensor<8xf32>) -> tensor<8xf32>")),
              HasSubstr("names the function 'missing', which the module does not define"));
  EXPECT_THAT(importErrors(program(
                  "%0 = stablehlo.composite \"f\" %x {decomposition = @main} : (tensor<8xf32>) -> tensor<8xf32>")),
              HasSubstr("has other operands than 'main'"));
  EXPECT_THAT(importErrors(program("%0 = stablehlo.constant dense_resource<blob> : tensor<8xf32>")),
              HasSubstr("has no dense value in the text; export with the constants written out"));
}

TEST(Refusals, Assembly) {
  for (auto [lines, message] : std::vector<Wrong>{
           {"%0 = stablehlo.add %x, %x : (tensor<8xf32>) -> tensor<8xf32>",
            "the type has 1 operands and 1 results; expected 2 and 1"},
           {"%0 = stablehlo.select %x, %x, %x : (tensor<8xf32>) -> tensor<8xf32>",
            "select has three operands and one result"},
           {"%0 = stablehlo.reduce_precision %x, format = m7 : tensor<8xf32>", "a format is written e8m7"},
           {"%0 = stablehlo.convolution(%y, %y) dim_numbers = [b, 12]x[i, o]->[b, f], window = {} : (tensor<8x4xf32>, "
            "tensor<8x4xf32>) -> tensor<8x4xf32>",
            "a position is 0 to 9"},
           {"%0 = stablehlo.convolution(%y, %y) dim_numbers = [b, q]x[i, o]->[b, f], window = {} : (tensor<8x4xf32>, "
            "tensor<8x4xf32>) -> tensor<8x4xf32>",
            "a dimension is b, f, i, o or a number"},
           {"%0 = stablehlo.convolution(%y, %y) dim_numbers = [b, f]x[i, o]->[b, f], window = {size = [1]} : "
            "(tensor<8x4xf32>, tensor<8x4xf32>) -> tensor<8x4xf32>",
            "unknown entry 'size' of a window"},
           {"%0 = stablehlo.convolution(%y, %y) dim_numbers = [b, f]x[i, o]->[b, f], window = {reverse = [maybe]} : "
            "(tensor<8x4xf32>, tensor<8x4xf32>) -> tensor<8x4xf32>",
            "'true' or 'false' is expected here"},
           {"%0 = stablehlo.dot_general %x, %x, reducing_dims = [0] x [0] : (tensor<8xf32>, tensor<8xf32>) -> "
            "tensor<f32>",
            "unknown entry 'reducing_dims' of dot_general"},
           {"%0 = stablehlo.while(%c = %x) : tensor<8xf32>, tensor<8xf32> cond {\n} do {\n}",
            "the loop carries 1 values, but names 2 types"},
           {"%0 = stablehlo.reduce(%x init: %n) applies stablehlo.add across dimensions = [0] : (tensor<8xf32>, "
            "tensor<i32>) -> i32",
            "the result of reduce must be a ranked tensor"},
           {"%0 = stablehlo.reduce(%x init: %n) applies stablehlo.sum across dimensions = [0] : (tensor<8xf32>, "
            "tensor<i32>) -> tensor<i32>",
            "'applies' names an operation of two elements, for one reduced array"},
           {"%0 = stablehlo.reduce(%x init: %n) applies stablehlo.add across dimensions = [0] : (tensor<8xf32>, "
            "tensor<i32>) -> (tensor<i32>, tensor<i32>)",
            "reduce has 1 arrays, but 2 results"},
           {"%0 = sdy.sharding_constraint %x <@mesh, [{?, \"a\"}]> : tensor<8xf32>", "'?' ends a dimension's axes"},
           {"%0 = sdy.sharding_constraint %x <@mesh, [{\"a\"}q1]> : tensor<8xf32>",
            "a priority is written p0, p1, ..."},
           {"%0 = sdy.sharding_constraint %x <@mesh, [{\"a\"}], reduced={}> : tensor<8xf32>",
            "'replicated' or 'unreduced' is expected here"},
           {"%0 = \"stablehlo.gather\"(%y, %n) <{dimension_numbers = #stablehlo.gather<offsets = [1]>, slice_sizes = "
            "array<i64: 1>}> : (tensor<8x4xf32>, tensor<i32>) -> tensor<1xf32>",
            "unknown entry 'offsets'"},
       })
    EXPECT_THAT(importErrors(program(lines)), HasSubstr(message)) << lines;
  EXPECT_THAT(importErrors(program("", "sdy.mesh @mesh = <[\"a\"=0]>\n")),
              HasSubstr("the size of an axis is at least 1"));
}

/// select_and_scatter of windows of two elements.
std::string selectAndScatter(const std::string &attributes, const std::string &direction, const std::string &combine) {
  return importErrors(program("%z = stablehlo.constant dense<0.0> : tensor<f32>\n"
                              "%s = stablehlo.slice %x [0:4] : (tensor<8xf32>) -> tensor<4xf32>\n"
                              "%0 = \"stablehlo.select_and_scatter\"(%x, %s, %z) <{" +
                              attributes + "}> ({\n^bb0(%a: tensor<f32>, %b: tensor<f32>):\n%c = stablehlo.compare " +
                              direction +
                              ", %a, %b : (tensor<f32>, tensor<f32>) -> tensor<i1>\nstablehlo.return %c : "
                              "tensor<i1>\n}, {\n^bb0(%a: tensor<f32>, %b: tensor<f32>):\n%c = stablehlo." +
                              combine +
                              " %a, %b : tensor<f32>\nstablehlo.return %c : tensor<f32>\n}) : (tensor<8xf32>, "
                              "tensor<4xf32>, tensor<f32>) -> tensor<8xf32>"));
}

TEST(Refusals, SelectAndScatter) {
  EXPECT_EQ(selectAndScatter("window_dimensions = array<i64: 2>, window_strides = array<i64: 2>", "GE", "add"), "");
  EXPECT_THAT(selectAndScatter("window_dimensions = array<i64: 2, 1>, window_strides = array<i64: 2>", "GE", "add"),
              HasSubstr("has a window that does not fit its operand"));
  EXPECT_THAT(
      selectAndScatter("window_dimensions = array<i64: 2>, window_strides = array<i64: 2>", "GE", "power"),
      HasSubstr("is supported where a comparison selects and one operation combines the scattered values, as in "
                "the gradient of jax.lax.reduce_window"));
  EXPECT_THAT(selectAndScatter("window_dimensions = array<i64: 2>, window_strides = array<i64: 1>", "GE", "add"),
              HasSubstr("has a source of another shape than its windows"));
}

TEST(Refusals, FunctionsThatCallThemselves) {
  EXPECT_THAT(
      importErrors("func.func private @f(%x: tensor<8xf32>) -> tensor<8xf32> { %0 = func.call @f(%x) : (tensor<8xf32>) "
                   "-> tensor<8xf32>\nreturn %0 : tensor<8xf32> }\n" +
                   program("%0 = func.call @f(%x) : (tensor<8xf32>) -> tensor<8xf32>")),
      HasSubstr("calls 'f', which calls itself"));
}

TEST(Refusals, AnotherEntry) {
  FrontendOptions options;
  options.function = "step";
  EXPECT_THAT(importErrors(program(""), options),
              HasSubstr("the program has no function 'step'; an export has one of the name 'main'"));
}

TEST(Refusals, NotMlir) {
  EXPECT_NE(importErrors("stablehlo. this is not MLIR"), "");
  EXPECT_NE(importErrors("func.func @main(%x: tensor<8xf32>) -> tensor<8xf32> { stablehlo.return"), "");
  EXPECT_NE(importErrors("func.func private @main(tensor<8xf32>) -> tensor<8xf32> // stablehlo."), "");
}

} // namespace
