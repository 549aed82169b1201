//===- DerivativesTest.cpp - every derivative against differences ---------===//
//
// Each operation's derivative, and the derivative of that, in f64 through the global evaluator, against central
// differences at random points away from kinks. What is differentiated is a weighted sum of the result's elements, so
// that each element's own derivative shows. Values of JAX, ties and other special points included, are compared in
// tests/frontend.
//
//===----------------------------------------------------------------------===//

#include "ir/array/ArrayOps.h"
#include "ir/evaluate/GlobalEvaluator.h"
#include "passes/differentiate/Passes.h"
#include "tests/ir/support/IrTest.h"

#include "mlir/Pass/PassManager.h"

#include <random>
#include <set>

using namespace spmdc;

namespace {

struct DerivativeCase {
  const char *name;
  /// The body: arguments are %x, %y, %z, the result is %r.
  const char *body;
  std::vector<const char *> arguments; ///< `f64[2, 3]`.
  const char *result;
  /// Arguments are drawn from here, distinct elements at least 0.05 apart; `isSigned`: of either sign.
  double low = 0.3, high = 2;
  bool isSigned = false;
  /// Whether the second derivative exists everywhere around (and is worth differencing).
  bool isSmooth = true;
};

void PrintTo(const DerivativeCase &test, std::ostream *os) { *os << test.name; }

const DerivativeCase kUnary[] = {
    {"exp", "%r = array.exp %x : <f64[5]>", {"f64[5]"}, "f64[5]"},
    {"exp2", "%r = array.exp2 %x : <f64[5]>", {"f64[5]"}, "f64[5]"},
    {"expm1", "%r = array.expm1 %x : <f64[5]>", {"f64[5]"}, "f64[5]"},
    {"log", "%r = array.log %x : <f64[5]>", {"f64[5]"}, "f64[5]"},
    {"log1p", "%r = array.log1p %x : <f64[5]>", {"f64[5]"}, "f64[5]"},
    {"log2", "%r = array.log2 %x : <f64[5]>", {"f64[5]"}, "f64[5]"},
    {"sqrt", "%r = array.sqrt %x : <f64[5]>", {"f64[5]"}, "f64[5]"},
    {"rsqrt", "%r = array.rsqrt %x : <f64[5]>", {"f64[5]"}, "f64[5]"},
    {"cbrt", "%r = array.cbrt %x : <f64[5]>", {"f64[5]"}, "f64[5]", 0.3, 2, true},
    {"sin", "%r = array.sin %x : <f64[5]>", {"f64[5]"}, "f64[5]", 0.3, 2, true},
    {"cos", "%r = array.cos %x : <f64[5]>", {"f64[5]"}, "f64[5]", 0.3, 2, true},
    {"tan", "%r = array.tan %x : <f64[5]>", {"f64[5]"}, "f64[5]", 0.1, 1.2, true},
    {"tanh", "%r = array.tanh %x : <f64[5]>", {"f64[5]"}, "f64[5]", 0.1, 2, true},
    {"sinh", "%r = array.sinh %x : <f64[5]>", {"f64[5]"}, "f64[5]", 0.1, 2, true},
    {"cosh", "%r = array.cosh %x : <f64[5]>", {"f64[5]"}, "f64[5]", 0.1, 2, true},
    {"asin", "%r = array.asin %x : <f64[5]>", {"f64[5]"}, "f64[5]", 0.1, 0.8, true},
    {"acos", "%r = array.acos %x : <f64[5]>", {"f64[5]"}, "f64[5]", 0.1, 0.8, true},
    {"atan", "%r = array.atan %x : <f64[5]>", {"f64[5]"}, "f64[5]", 0.1, 2, true},
    {"erf", "%r = array.erf %x : <f64[5]>", {"f64[5]"}, "f64[5]", 0.1, 2, true},
    {"erf_inv", "%r = array.erf_inv %x : <f64[5]>", {"f64[5]"}, "f64[5]", 0.1, 0.8, true},
    {"logistic", "%r = array.logistic %x : <f64[5]>", {"f64[5]"}, "f64[5]", 0.1, 2, true},
    {"abs", "%r = array.abs %x : <f64[5]>", {"f64[5]"}, "f64[5]", 0.1, 2, true},
    {"negate", "%r = array.negate %x : <f64[5]>", {"f64[5]"}, "f64[5]"},
    {"optimization_barrier", "%r = array.optimization_barrier %x : <f64[5]>", {"f64[5]"}, "f64[5]"},
    {"convert",
     "%0 = array.multiply %x, %x : <f64[5]>\n%r = array.convert %0 : <f64[5]> -> <f64[5]>",
     {"f64[5]"},
     "f64[5]"},
};

const DerivativeCase kBinary[] = {
    {"add", "%r = array.add %x, %y : <f64[5]>", {"f64[5]", "f64[5]"}, "f64[5]"},
    {"add_to_itself", "%r = array.add %x, %x : <f64[5]>", {"f64[5]"}, "f64[5]"},
    {"subtract", "%r = array.subtract %x, %y : <f64[5]>", {"f64[5]", "f64[5]"}, "f64[5]"},
    {"multiply", "%r = array.multiply %x, %y : <f64[5]>", {"f64[5]", "f64[5]"}, "f64[5]", 0.3, 2, true},
    {"divide", "%r = array.divide %x, %y : <f64[5]>", {"f64[5]", "f64[5]"}, "f64[5]", 0.3, 2, true},
    {"power", "%r = array.power %x, %y : <f64[5]>", {"f64[5]", "f64[5]"}, "f64[5]"},
    {"atan2", "%r = array.atan2 %x, %y : <f64[5]>", {"f64[5]", "f64[5]"}, "f64[5]", 0.3, 2, true},
    {"maximum", "%r = array.maximum %x, %y : <f64[5]>", {"f64[5]", "f64[5]"}, "f64[5]", 0.1, 2, true, false},
    {"minimum", "%r = array.minimum %x, %y : <f64[5]>", {"f64[5]", "f64[5]"}, "f64[5]", 0.1, 2, true, false},
    {"remainder",
     "%c = array.constant dense<0.7> : tensor<3xf64> -> <f64[3]>\n%0 = array.divide %x, %x : <f64[3]>\n"
     "%1 = array.multiply %0, %c : <f64[3]>\n%2 = array.add %1, %x : <f64[3]>\n"
     "%c1 = array.constant dense<[1.0, 0.25, -0.6]> : tensor<3xf64> -> <f64[3]>\n"
     "%3 = array.multiply %c1, %y : <f64[3]>\n%r = array.remainder %3, %y : <f64[3]>",
     {"f64[3]", "f64[3]"},
     "f64[3]",
     0.3,
     2,
     true,
     false},
    {"select",
     "%p = array.compare lt %x, %y : <f64[5]>, <f64[5]> -> <bool[5]>\n"
     "%r = array.select %p, %x, %y : <bool[5]>, <f64[5]>, <f64[5]> -> <f64[5]>",
     {"f64[5]", "f64[5]"},
     "f64[5]",
     0.1,
     2,
     true,
     false},
    {"clamp",
     "%0 = array.abs %x : <f64[9]>\n%low = array.negate %0 : <f64[9]>\n%high = array.abs %z : <f64[9]>\n"
     "%r = array.clamp %low, %y, %high : <f64[9]>",
     {"f64[9]", "f64[9]", "f64[9]"},
     "f64[9]",
     0.1,
     2,
     true,
     false},
};

const DerivativeCase kShape[] = {
    {"broadcast_in_dim",
     "%r = array.broadcast_in_dim %x dims [1, 2] : <f64[1, 3]> -> <f64[2, 4, 3]>",
     {"f64[1, 3]"},
     "f64[2, 4, 3]"},
    {"broadcast_of_scalar", "%r = array.broadcast_in_dim %x dims [] : <f64[]> -> <f64[2, 3]>", {"f64[]"}, "f64[2, 3]"},
    {"broadcast_to_one", "%r = array.broadcast_in_dim %x dims [1] : <f64[3]> -> <f64[1, 3]>", {"f64[3]"}, "f64[1, 3]"},
    {"reshape", "%r = array.reshape %x : <f64[2, 6]> -> <f64[3, 4]>", {"f64[2, 6]"}, "f64[3, 4]"},
    {"transpose",
     "%r = array.transpose %x perm [2, 0, 1] : <f64[2, 3, 4]> -> <f64[4, 2, 3]>",
     {"f64[2, 3, 4]"},
     "f64[4, 2, 3]"},
    {"slice",
     "%r = array.slice %x [1, 0] to [4, 7] step [1, 3] : <f64[4, 8]> -> <f64[3, 3]>",
     {"f64[4, 8]"},
     "f64[3, 3]"},
    {"slice_to_nothing",
     "%0 = array.slice %x [2] to [2] step [1] : <f64[4]> -> <f64[0]>\n"
     "%r = array.concatenate %x, %0 dim 0 : !spmd.array<f64[4]>, !spmd.array<f64[0]> -> <f64[4]>",
     {"f64[4]"},
     "f64[4]"},
    {"pad",
     "%r = array.pad %x with %y low [1, -1] high [0, 2] interior [0, 2] : <f64[2, 3]>, <f64[]> -> <f64[3, 8]>",
     {"f64[2, 3]", "f64[]"},
     "f64[3, 8]"},
    {"pad_of_nothing",
     "%0 = array.slice %x [0] to [0] step [1] : <f64[2]> -> <f64[0]>\n"
     "%r = array.pad %0 with %y low [1] high [2] interior [0] : <f64[0]>, <f64[]> -> <f64[3]>",
     {"f64[2]", "f64[]"},
     "f64[3]"},
    {"concatenate",
     "%r = array.concatenate %x, %y, %x dim 1 : !spmd.array<f64[2, 2]>, !spmd.array<f64[2, 3]>, "
     "!spmd.array<f64[2, 2]> -> <f64[2, 7]>",
     {"f64[2, 2]", "f64[2, 3]"},
     "f64[2, 7]"},
    {"reverse", "%r = array.reverse %x dims [0, 1] : <f64[2, 3]> -> <f64[2, 3]>", {"f64[2, 3]"}, "f64[2, 3]"},
    {"constraint",
     "%0 = spmd.constraint %x : <f64[4]> -> <f64[4@a]>\n%r = array.exp %0 : (<f64[4@a]>) -> <f64[4]>",
     {"f64[4]"},
     "f64[4]"},
};

const DerivativeCase kReduction[] = {
    {"dot_matmul",
     "%r = array.dot_general %x, %y contract [1] x [0] batch [] x [] : <f64[2, 3]>, <f64[3, 4]> -> <f64[2, 4]>",
     {"f64[2, 3]", "f64[3, 4]"},
     "f64[2, 4]",
     0.1,
     2,
     true},
    {"dot_of_itself",
     "%r = array.dot_general %x, %x contract [1] x [1] batch [] x [] : <f64[2, 3]>, <f64[2, 3]> -> <f64[2, 2]>",
     {"f64[2, 3]"},
     "f64[2, 2]",
     0.1,
     2,
     true},
    // Two batch and two contracted dimensions in different orders, free ones between them.
    {"dot_general",
     "%r = array.dot_general %x, %y contract [0, 3] x [4, 0] batch [4, 1] x [2, 1] : <f64[2, 3, 1, 4, 2]>, "
     "<f64[4, 3, 2, 3, 2]> -> <f64[2, 3, 1, 3]>",
     {"f64[2, 3, 1, 4, 2]", "f64[4, 3, 2, 3, 2]"},
     "f64[2, 3, 1, 3]",
     0.1,
     2,
     true},
    {"dot_outer",
     "%r = array.dot_general %x, %y contract [] x [] batch [] x [] : <f64[2]>, <f64[3]> -> <f64[2, 3]>",
     {"f64[2]", "f64[3]"},
     "f64[2, 3]",
     0.1,
     2,
     true},
    {"reduce_sum",
     "%r = array.reduce sum %x dims [0, 2] : <f64[2, 3, 4]> -> <f64[3]>",
     {"f64[2, 3, 4]"},
     "f64[3]",
     0.1,
     2,
     true},
    {"reduce_prod",
     "%r = array.reduce prod %x dims [0, 2] : <f64[2, 2, 3]> -> <f64[2]>",
     {"f64[2, 2, 3]"},
     "f64[2]",
     0.5,
     2,
     true},
    {"reduce_max",
     "%r = array.reduce max %x dims [1] : <f64[3, 4]> -> <f64[3]>",
     {"f64[3, 4]"},
     "f64[3]",
     0.1,
     2,
     true,
     false},
    {"reduce_min",
     "%r = array.reduce min %x dims [0, 1] : <f64[3, 4]> -> <f64[]>",
     {"f64[3, 4]"},
     "f64[]",
     0.1,
     2,
     true,
     false},
    {"cumulative_sum", "%r = array.cumulative sum %x dim 1 : <f64[2, 5]> -> <f64[2, 5]>", {"f64[2, 5]"}, "f64[2, 5]"},
    {"cumulative_prod",
     "%r = array.cumulative prod %x dim 0 : <f64[7, 2]> -> <f64[7, 2]>",
     {"f64[7, 2]"},
     "f64[7, 2]",
     0.5,
     1.5,
     true},
    {"cumulative_prod_even",
     "%r = array.cumulative prod %x dim 0 : <f64[6]> -> <f64[6]>",
     {"f64[6]"},
     "f64[6]",
     0.5,
     1.5,
     true},
    {"cumulative_of_one", "%r = array.cumulative prod %x dim 0 : <f64[1]> -> <f64[1]>", {"f64[1]"}, "f64[1]"},
    {"cumulative_max",
     "%r = array.cumulative max %x dim 1 : <f64[2, 8]> -> <f64[2, 8]>",
     {"f64[2, 8]"},
     "f64[2, 8]",
     0.1,
     2,
     true,
     false},
    {"cumulative_min",
     "%r = array.cumulative min %x dim 0 : <f64[5, 2]> -> <f64[5, 2]>",
     {"f64[5, 2]"},
     "f64[5, 2]",
     0.1,
     2,
     true,
     false},
};

// Indices inside, outside on either side, and the same one twice.
const DerivativeCase kIndex[] = {
    {"dynamic_slice",
     "%i = array.constant dense<1> : tensor<i32> -> <i32[]>\n"
     "%j = array.constant dense<9> : tensor<i32> -> <i32[]>\n"
     "%r = array.dynamic_slice %x at(%i, %j) sizes [2, 3] : (!spmd.array<f64[4, 5]>, "
     "!spmd.array<i32[]>, !spmd.array<i32[]>) -> !spmd.array<f64[2, 3]>",
     {"f64[4, 5]"},
     "f64[2, 3]"},
    {"dynamic_update_slice",
     "%i = array.constant dense<-2> : tensor<i32> -> <i32[]>\n"
     "%j = array.constant dense<2> : tensor<i32> -> <i32[]>\n"
     "%r = array.dynamic_update_slice %x, %y at(%i, %j) : (!spmd.array<f64[4, 5]>, "
     "!spmd.array<f64[2, 2]>, !spmd.array<i32[]>, !spmd.array<i32[]>) -> "
     "!spmd.array<f64[4, 5]>",
     {"f64[4, 5]", "f64[2, 2]"},
     "f64[4, 5]"},
    {"take",
     "%i = array.constant dense<[[0, 3, -1], [2, 7, 2]]> : tensor<2x3xi32> -> <i32[2, 3]>\n"
     "%r = array.take %x, %i dim 1 : <f64[2, 4]>, "
     "<i32[2, 3]> -> <f64[2, 2, 3]>",
     {"f64[2, 4]"},
     "f64[2, 2, 3]"},
    {"take_of_itself",
     "%i = array.constant dense<[1, 1, 0]> : tensor<3xi32> -> <i32[3]>\n"
     "%0 = array.take %x, %i dim 0 : <f64[3]>, <i32[3]> -> <f64[3]>\n"
     "%r = array.multiply %0, %x : <f64[3]>",
     {"f64[3]"},
     "f64[3]",
     0.1,
     2,
     true},
    {"take_along",
     "%i = array.constant dense<[[0, 2], [1, 1], [5, -3]]> : tensor<3x2xi32> -> <i32[3, 2]>\n"
     "%r = array.take_along %x, %i dim 1 : <f64[3, 3]>, "
     "<i32[3, 2]> -> <f64[3, 2]>",
     {"f64[3, 3]"},
     "f64[3, 2]"},
    {"scatter_add",
     "%i = array.constant dense<[2, -1, 0, 2, 4]> : tensor<5xi32> -> <i32[5]>\n"
     "%r = array.scatter_add %x, %i, %y dim 1 : <f64[2, 4]>, <i32[5]>, "
     "<f64[2, 5]> -> <f64[2, 4]>",
     {"f64[2, 4]", "f64[2, 5]"},
     "f64[2, 4]"},
    {"scatter_add_along",
     "%i = array.constant dense<[[2, 0], [1, -1], [2, 3]]> : tensor<3x2xi32> -> <i32[3, 2]>\n"
     "%0 = array.multiply %y, %y : <f64[3, 2]>\n"
     "%r = array.scatter_add_along %x, %i, %0 dim 0 : "
     "<f64[3, 2]>, <i32[3, 2]>, <f64[3, 2]> -> "
     "<f64[3, 2]>",
     {"f64[3, 2]", "f64[3, 2]"},
     "f64[3, 2]",
     0.1,
     2,
     true},
};

const DerivativeCase kRegion[] = {
    {"if",
     "%0 = array.compare lt %x, %y : <f64[3]>, <f64[3]> -> <bool[3]>\n"
     "%1 = array.slice %0 [1] to [2] step [1] : <bool[3]> -> <bool[1]>\n"
     "%p = array.reshape %1 : <bool[1]> -> <bool[]>\n"
     "%r, %unused = array.if %p {\n"
     "  %2 = array.sin %x : <f64[3]>\n  %3 = array.multiply %2, %y : <f64[3]>\n"
     "  array.yield %3, %2 : !spmd.array<f64[3]>, !spmd.array<f64[3]>\n} else {\n"
     "  %2 = array.exp %y : <f64[3]>\n  %3 = array.multiply %2, %2 : <f64[3]>\n"
     "  array.yield %3, %x : !spmd.array<f64[3]>, !spmd.array<f64[3]>\n"
     "} : (!spmd.array<bool[]>) -> (!spmd.array<f64[3]>, !spmd.array<f64[3]>)",
     {"f64[3]", "f64[3]"},
     "f64[3]"},
    {"if_of_a_constant_arm",
     "%p = array.constant dense<false> : tensor<i1> -> <bool[]>\n"
     "%0 = array.if %p {\n  %2 = array.sin %x : <f64[3]>\n  array.yield %2 : !spmd.array<f64[3]>\n} else {\n"
     "  %2 = array.constant dense<2.0> : tensor<3xf64> -> <f64[3]>\n  array.yield %2 : !spmd.array<f64[3]>\n"
     "} : (!spmd.array<bool[]>) -> !spmd.array<f64[3]>\n%r = array.multiply %0, %x : <f64[3]>",
     {"f64[3]"},
     "f64[3]"},
    {"for",
     "%r, %n = array.for 2 to 5 (%x, %y) {\n^bb0(%i: !spmd.array<i32[]>, %c: !spmd.array<f64[2]>, %d: "
     "!spmd.array<f64[2]>):\n"
     "  %0 = array.convert %i : <i32[]> -> <f64[]>\n  %1 = array.broadcast_in_dim %0 dims [] : <f64[]> -> <f64[2]>\n"
     "  %2 = array.multiply %c, %1 : <f64[2]>\n  %3 = array.sin %2 : <f64[2]>\n"
     "  %4 = array.multiply %d, %z : <f64[2]>\n  %5 = array.multiply %3, %d : <f64[2]>\n"
     "  array.yield %5, %4 : !spmd.array<f64[2]>, !spmd.array<f64[2]>\n"
     "} : (!spmd.array<f64[2]>, !spmd.array<f64[2]>) -> (!spmd.array<f64[2]>, !spmd.array<f64[2]>)",
     {"f64[2]", "f64[2]", "f64[2]"},
     "f64[2]",
     0.1,
     0.7},
    {"for_in_for",
     "%r = array.for 0 to 2 (%x) {\n^bb0(%i: !spmd.array<i32[]>, %c: !spmd.array<f64[2]>):\n"
     "  %s = array.sin %c : <f64[2]>\n"
     "  %0 = array.for 0 to 3 (%c) {\n  ^bb0(%j: !spmd.array<i32[]>, %d: !spmd.array<f64[2]>):\n"
     "    %1 = array.multiply %d, %y : <f64[2]>\n    %2 = array.cos %1 : <f64[2]>\n"
     "    %3 = array.multiply %2, %s : <f64[2]>\n    array.yield %3 : !spmd.array<f64[2]>\n"
     "  } : (!spmd.array<f64[2]>) -> !spmd.array<f64[2]>\n"
     "  %4 = array.add %0, %c : <f64[2]>\n  array.yield %4 : !spmd.array<f64[2]>\n"
     "} : (!spmd.array<f64[2]>) -> !spmd.array<f64[2]>",
     {"f64[2]", "f64[2]"},
     "f64[2]"},
    {"for_of_no_trips",
     "%0, %1 = array.for 3 to 3 (%x, %y) {\n^bb0(%i: !spmd.array<i32[]>, %c: !spmd.array<f64[2]>, %d: "
     "!spmd.array<f64[2]>):\n"
     "  array.yield %d, %c : !spmd.array<f64[2]>, !spmd.array<f64[2]>\n"
     "} : (!spmd.array<f64[2]>, !spmd.array<f64[2]>) -> (!spmd.array<f64[2]>, !spmd.array<f64[2]>)\n"
     "%r = array.multiply %0, %1 : <f64[2]>",
     {"f64[2]", "f64[2]"},
     "f64[2]"},
    {"for_of_one_trip",
     "%r = array.for 3 to 4 (%x) {\n^bb0(%i: !spmd.array<i32[]>, %c: !spmd.array<f64[2]>):\n"
     "  %0 = array.multiply %c, %c : <f64[2]>\n  array.yield %0 : !spmd.array<f64[2]>\n"
     "} : (!spmd.array<f64[2]>) -> !spmd.array<f64[2]>",
     {"f64[2]"},
     "f64[2]"},
    // Carries that change places, so that each reaches the result only through the other.
    {"for_of_swaps",
     "%r, %0 = array.for 0 to 3 (%x, %y) {\n^bb0(%i: !spmd.array<i32[]>, %c: !spmd.array<f64[2]>, %d: "
     "!spmd.array<f64[2]>):\n"
     "  %1 = array.sin %c : <f64[2]>\n  array.yield %d, %1 : !spmd.array<f64[2]>, !spmd.array<f64[2]>\n"
     "} : (!spmd.array<f64[2]>, !spmd.array<f64[2]>) -> (!spmd.array<f64[2]>, !spmd.array<f64[2]>)",
     {"f64[2]", "f64[2]"},
     "f64[2]"},
    {"if_in_for",
     "%half = array.constant dense<1> : tensor<i32> -> <i32[]>\n"
     "%r = array.for 0 to 3 (%x) {\n^bb0(%i: !spmd.array<i32[]>, %c: !spmd.array<f64[2]>):\n"
     "  %p = array.compare gt %i, %half : <i32[]>, <i32[]> -> <bool[]>\n"
     "  %0 = array.if %p {\n    %1 = array.multiply %c, %y : <f64[2]>\n    %2 = array.sin %1 : <f64[2]>\n"
     "    array.yield %2 : !spmd.array<f64[2]>\n  } else {\n    %1 = array.multiply %c, %c : <f64[2]>\n"
     "    array.yield %1 : !spmd.array<f64[2]>\n  } : (!spmd.array<bool[]>) -> !spmd.array<f64[2]>\n"
     "  array.yield %0 : !spmd.array<f64[2]>\n} : (!spmd.array<f64[2]>) -> !spmd.array<f64[2]>",
     {"f64[2]", "f64[2]"},
     "f64[2]"},
    {"checkpoint_in_for",
     "%r = array.for 0 to 3 (%x) {\n^bb0(%i: !spmd.array<i32[]>, %c: !spmd.array<f64[2]>):\n"
     "  %0 = array.checkpoint {\n    %1 = array.multiply %c, %y : <f64[2]>\n    %2 = array.sin %1 : <f64[2]>\n"
     "    array.yield %2 : !spmd.array<f64[2]>\n  } : !spmd.array<f64[2]>\n"
     "  array.yield %0 : !spmd.array<f64[2]>\n} : (!spmd.array<f64[2]>) -> !spmd.array<f64[2]>",
     {"f64[2]", "f64[2]"},
     "f64[2]"},
};

/// On pieces of x: f64[4, 2@a] and all of y: f64[2]; %u varies over a, %v does not.
#define MANUAL(NAME, RESULT, BODY)                                                                                     \
  {NAME,                                                                                                               \
   "%xc = spmd.constraint %x : <f64[4, 2]> -> <f64[4@_, 2@a]>\n"                                                       \
   "%yc = spmd.constraint %y : <f64[4, 1]> -> <f64[4@_, 1@_]>\n"                                                       \
   "%m = spmd.manual(%xc, %yc) {\n^bb0(%u: !spmd.array<f64[4, 1]>, %v: !spmd.array<f64[4, 1]>):\n" BODY                \
   "} : (!spmd.array<f64[4@_, 2@a]>, !spmd.array<f64[4@_, 1@_]>) -> !spmd.array<" RESULT ">\n"                         \
   "%r = array.sin %m : (<" RESULT ">) -> <f64[4, 2]>",                                                                \
   {"f64[4, 2]", "f64[4, 1]"},                                                                                         \
   "f64[4, 2]",                                                                                                        \
   0.1,                                                                                                                \
   2,                                                                                                                  \
   true}

const DerivativeCase kManual[] = {
    MANUAL("manual", "f64[4@_, 2@a]",
           "%0 = array.multiply %u, %v : <f64[4, 1]>\n%1 = array.multiply %0, %v : <f64[4, 1]>\n"
           "spmd.yield %1 : !spmd.array<f64[4, 1]>\n"),
    MANUAL("all_reduce", "f64[4@_, 2@a]",
           "%0 = array.multiply %u, %v : <f64[4, 1]>\n"
           "%1 = spmd.all_reduce sum %0 over <a> : <f64[4, 1]> -> <f64[4, 1]>\n"
           "%2 = spmd.all_reduce sum %v over <a> : <f64[4, 1]> -> <f64[4, 1]>\n"
           "%3 = array.multiply %1, %u : <f64[4, 1]>\n%4 = array.multiply %3, %2 : <f64[4, 1]>\n"
           "spmd.yield %4 : !spmd.array<f64[4, 1]>\n"),
    MANUAL("all_gather", "f64[4@_, 2@_]",
           "%0 = array.multiply %u, %v : <f64[4, 1]>\n"
           "%1 = spmd.all_gather %0 dim 1 over <a> : <f64[4, 1]> -> <f64[4, 2]>\n"
           "%2 = array.multiply %1, %1 : <f64[4, 2]>\n"
           "spmd.yield %2 : !spmd.array<f64[4, 2]>\n"),
    // Each device uses what was gathered in its own way.
    MANUAL("all_gather_to_varying", "f64[4@_, 2@a]",
           "%0 = array.multiply %u, %v : <f64[4, 1]>\n"
           "%1 = spmd.all_gather %0 dim 1 over <a> : <f64[4, 1]> -> <f64[4, 2]>\n"
           "%2 = array.reduce prod %1 dims [1] : <f64[4, 2]> -> <f64[4]>\n"
           "%3 = array.reshape %2 : <f64[4]> -> <f64[4, 1]>\n"
           "%4 = array.multiply %3, %u : <f64[4, 1]>\n"
           "spmd.yield %4 : !spmd.array<f64[4, 1]>\n"),
    MANUAL("all_slice", "f64[4@_, 2@a]",
           "%0 = array.concatenate %v, %v dim 1 : !spmd.array<f64[4, 1]>, !spmd.array<f64[4, 1]> -> <f64[4, 2]>\n"
           "%1 = spmd.all_slice %0 dim 1 over <a> : <f64[4, 2]> -> <f64[4, 1]>\n"
           "%2 = array.concatenate %v, %u dim 1 : !spmd.array<f64[4, 1]>, !spmd.array<f64[4, 1]> -> <f64[4, 2]>\n"
           "%3 = spmd.all_slice %2 dim 1 over <a> : <f64[4, 2]> -> <f64[4, 1]>\n"
           "%4 = array.multiply %1, %3 : <f64[4, 1]>\n"
           "spmd.yield %4 : !spmd.array<f64[4, 1]>\n"),
    MANUAL("reduce_scatter", "f64[4@a, 2@_]",
           "%0 = array.concatenate %u, %v dim 1 : !spmd.array<f64[4, 1]>, !spmd.array<f64[4, 1]> -> <f64[4, 2]>\n"
           "%1 = array.multiply %0, %0 : <f64[4, 2]>\n"
           "%2 = spmd.reduce_scatter sum %1 dim 0 over <a> : <f64[4, 2]> -> <f64[2, 2]>\n"
           "spmd.yield %2 : !spmd.array<f64[2, 2]>\n"),
    MANUAL("all_to_all", "f64[4@a, 2@_]",
           "%0 = array.multiply %u, %v : <f64[4, 1]>\n"
           "%1 = spmd.all_to_all %0 split 0 concat 1 over <a> : <f64[4, 1]> -> <f64[2, 2]>\n"
           "%2 = array.multiply %1, %1 : <f64[2, 2]>\n"
           "spmd.yield %2 : !spmd.array<f64[2, 2]>\n"),
    MANUAL("collective_permute", "f64[4@_, 2@a]",
           "%0 = spmd.collective_permute %u pairs [0, 1] over <a> : <f64[4, 1]> -> <f64[4, 1]>\n"
           "%1 = spmd.collective_permute %v pairs [0, 1, 1, 0] over <a> : <f64[4, 1]> -> <f64[4, 1]>\n"
           "%2 = array.multiply %0, %u : <f64[4, 1]>\n%3 = array.multiply %1, %1 : <f64[4, 1]>\n"
           "%4 = array.add %2, %3 : <f64[4, 1]>\n"
           "spmd.yield %4 : !spmd.array<f64[4, 1]>\n"),
    // Some devices go around a loop, and use there what all share.
    MANUAL("branch_by_device", "f64[4@_, 2@a]",
           "%i = spmd.axis_index <a> : <i32[]>\n%zero = array.constant dense<0> : tensor<i32> -> <i32[]>\n"
           "%p = array.compare eq %i, %zero : <i32[]>, <i32[]> -> <bool[]>\n"
           "%0 = array.if %p {\n"
           "  %2 = array.for 0 to 2 (%u) {\n  ^bb0(%k: !spmd.array<i32[]>, %c: !spmd.array<f64[4, 1]>):\n"
           "    %3 = array.multiply %c, %v : <f64[4, 1]>\n    array.yield %3 : !spmd.array<f64[4, 1]>\n"
           "  } : (!spmd.array<f64[4, 1]>) -> !spmd.array<f64[4, 1]>\n"
           "  array.yield %2 : !spmd.array<f64[4, 1]>\n} else {\n"
           "  array.yield %v : !spmd.array<f64[4, 1]>\n} : (!spmd.array<bool[]>) -> !spmd.array<f64[4, 1]>\n"
           "%1 = array.multiply %0, %u : <f64[4, 1]>\n"
           "spmd.yield %1 : !spmd.array<f64[4, 1]>\n"),
};

const DerivativeCase kManualKinked[] = {
    {"all_reduce_max",
     "%xc = spmd.constraint %x : <f64[4, 2]> -> <f64[4@_, 2@a]>\n"
     "%m = spmd.manual(%xc) {\n^bb0(%u: !spmd.array<f64[4, 1]>):\n"
     "%1 = spmd.all_reduce max %u over <a> : <f64[4, 1]> -> <f64[4, 1]>\n"
     "%2 = array.multiply %1, %1 : <f64[4, 1]>\n"
     "spmd.yield %2 : !spmd.array<f64[4, 1]>\n"
     "} : (!spmd.array<f64[4@_, 2@a]>) -> !spmd.array<f64[4@_, 1@_]>\n"
     "%r = array.sin %m : (<f64[4@_, 1@_]>) -> <f64[4, 1]>",
     {"f64[4, 2]"},
     "f64[4, 1]",
     0.1,
     2,
     true,
     false},
};

/// The shape of `f64[2, 3]`.
std::vector<int64_t> shapeOf(llvm::StringRef type) {
  std::vector<int64_t> shape;
  llvm::StringRef dims = type.drop_front(type.find('[') + 1).drop_back();
  while (!dims.empty()) {
    auto [first, rest] = dims.split(',');
    int64_t size = 0;
    first.trim().getAsInteger(10, size);
    shape.push_back(size);
    dims = rest;
  }
  return shape;
}

class DerivativesTest : public IrTest, public ::testing::WithParamInterface<DerivativeCase> {
protected:
  void SetUp() override {
    const DerivativeCase &test = GetParam();
    for (const char *argument : test.arguments)
      inputs.push_back(random(shapeOf(argument), test.low, test.high, test.isSigned));
  }

  /// Elements apart from one another by a twentieth, so that no kink lies between two of them.
  Tensor random(const std::vector<int64_t> &shape, double low, double high, bool isSigned) {
    Tensor tensor(shape, mlir::Float64Type::get(&context));
    for (Scalar &element : tensor.elements) {
      double value = 0;
      do {
        value = std::uniform_real_distribution<double>(low, high)(engine);
        if (isSigned && engine() % 2)
          value = -value;
      } while (!taken.insert(std::lround(value * 20)).second);
      if (taken.size() > 20)
        taken.clear();
      element.f = value;
    }
    return tensor;
  }

  static std::string typeText(llvm::StringRef type) { return "!spmd.array<" + type.str() + ">"; }

  /// `%NAME = sum of the elements of %value, each times another number`.
  static std::string weightedSum(const std::string &name, const std::string &value, llvm::StringRef type, int seed) {
    std::vector<int64_t> shape = shapeOf(type);
    int64_t count = elementCount(shape);
    std::string tensor, numbers, dims, w = name + "w", p = name + "p";
    for (int64_t size : shape) {
      tensor += std::to_string(size) + "x";
      dims += (dims.empty() ? "" : ", ") + std::to_string(dims.empty() ? 0 : llvm::StringRef(dims).count(',') + 1);
    }
    for (int64_t i = 0; i < count; ++i)
      numbers += (i ? ", " : "") + std::to_string(0.5 + 0.13 * static_cast<double>((i * 7 + seed) % 11));
    std::string flat = "f64[" + std::to_string(count) + "]";
    return "%" + w + "f = array.constant dense<[" + numbers + "]> : tensor<" + std::to_string(count) + "xf64> -> <" +
           flat + ">\n%" + w + " = array.reshape %" + w + "f : <" + flat + "> -> <" + type.str() + ">\n%" + p +
           " = array.multiply " + value + ", %" + w + " : <" + type.str() + ">\n%" + name + " = array.reduce sum %" +
           p + " dims [" + dims + "] : <" + type.str() + "> -> <f64[]>\n";
  }

  /// A function of the case's arguments: the weighted sum (`order` 0), its gradients (1), or the gradients of the
  /// weighted sum of those (2).
  std::string program(int order) {
    const DerivativeCase &test = GetParam();
    const char *names[] = {"%x", "%y", "%z"};
    std::string arguments, outer, types, blockArguments, outerBlockArguments;
    for (auto [i, type] : llvm::enumerate(test.arguments)) {
      std::string comma = i ? ", " : "", name = names[i];
      arguments += comma + name + ": " + typeText(type);
      types += comma + typeText(type);
    }
    auto block = [&](const std::string &suffix) {
      std::string text, operands;
      for (auto [i, type] : llvm::enumerate(test.arguments))
        text += (i ? ", " : "") + std::string(names[i]) + suffix + ": " + typeText(type);
      return "^bb0(" + text + "):\n";
    };
    auto operands = [&](const std::string &suffix) {
      std::string text;
      for (size_t i = 0; i < test.arguments.size(); ++i)
        text += (i ? ", " : "") + std::string(names[i]) + suffix;
      return text;
    };
    std::string sum = std::string(test.body) + "\n" + weightedSum("s", "%r", test.result, 3);
    std::string scalar = typeText("f64[]"), count = std::to_string(test.arguments.size() + 1);
    std::string signature = " : (" + types + ") -> (" + scalar + ", " + types + ")\n";
    if (order == 0)
      return wrap("func.func @main(" + arguments + ") -> " + scalar + " {\n" + sum + "return %s : " + scalar + "\n}\n");
    std::string results;
    for (size_t i = 1; i <= test.arguments.size(); ++i)
      results += (i > 1 ? ", %g#" : "%g#") + std::to_string(i);
    auto gradientOf = [&](const std::string &operandSuffix, const std::string &yielded, const std::string &body,
                          const std::string &argumentSuffix) {
      return "%g:" + count + " = array.gradient(" + operands(operandSuffix) + ") {\n" + block(argumentSuffix) + body +
             "array.yield " + yielded + " : " + scalar + "\n}" + signature;
    };
    std::string body;
    if (order == 1) {
      body = gradientOf("o", "%s", sum, "");
    } else {
      std::string inner = gradientOf("i", "%s", sum, ""), total;
      llvm::StringRef renamed(inner);
      inner = "%h" + renamed.drop_front(2).str();
      for (auto [i, type] : llvm::enumerate(test.arguments)) {
        std::string name = "t" + std::to_string(i);
        inner += weightedSum(name, "%h#" + std::to_string(i + 1), type, 5 + static_cast<int>(i));
        std::string next = "%u" + std::to_string(i);
        inner += i ? next + " = array.add " + total + ", %" + name + " : <f64[]>\n"
                   : next + " = array.negate %" + name + " : <f64[]>\n";
        total = next;
      }
      body = gradientOf("o", total, inner, "i");
    }
    std::string outerArguments;
    for (auto [i, type] : llvm::enumerate(test.arguments))
      outerArguments += (i ? ", " : "") + std::string(names[i]) + "o: " + typeText(type);
    return wrap("func.func @main(" + outerArguments + ") -> (" + types + ") {\n" + body + "return " + results + " : " +
                types + "\n}\n");
  }

  static std::string wrap(const std::string &function) {
    return "module attributes {spmd.mesh = #spmd.mesh<m, a=2>} {\n" + function + "}\n";
  }

  mlir::OwningOpRef<mlir::ModuleOp> compile(const std::string &text) {
    auto module = parseValid(text);
    if (!module)
      return {};
    mlir::PassManager passes(&context);
    passes.addPass(createDifferentiatePass());
    passes.addPass(createVerifyDifferentiatedPass());
    if (mlir::failed(passes.run(*module))) {
      ADD_FAILURE() << diagnosticText();
      return {};
    }
    return module;
  }

  std::vector<std::vector<double>> evaluate(mlir::ModuleOp module) {
    auto results = evaluateGlobal(functionOf(module), inputs);
    if (mlir::failed(results)) {
      ADD_FAILURE() << diagnosticText();
      return {};
    }
    std::vector<std::vector<double>> values;
    for (const Tensor &result : *results)
      values.push_back(floatsOf(result));
    return values;
  }

  /// Compares the gradients of `module` with differences of `scalar`.
  void expectGradients(mlir::ModuleOp module, const std::function<double()> &scalar) {
    std::vector<std::vector<double>> gradients = evaluate(module);
    ASSERT_EQ(gradients.size(), inputs.size());
    constexpr double step = 1e-5, tolerance = 1e-7;
    for (auto [i, gradient] : llvm::enumerate(gradients)) {
      ASSERT_EQ(gradient.size(), inputs[i].elements.size());
      for (auto [j, actual] : llvm::enumerate(gradient)) {
        double &element = inputs[i].elements[j].f, saved = element;
        element = saved + step;
        double above = scalar();
        element = saved - step;
        double below = scalar();
        element = saved;
        double expected = (above - below) / (2 * step);
        EXPECT_NEAR(actual, expected, tolerance * std::max(1.0, std::abs(expected)))
            << "argument " << i << " element " << j << " at " << saved;
      }
    }
  }

  std::mt19937_64 engine{20};
  std::set<long> taken;
  std::vector<Tensor> inputs;
};

TEST_P(DerivativesTest, FirstIsTheSlope) {
  auto value = compile(program(0)), gradient = compile(program(1));
  ASSERT_TRUE(value && gradient);
  expectGradients(*gradient, [&] { return evaluate(*value)[0][0]; });
}

TEST_P(DerivativesTest, SecondIsTheSlopeOfTheFirst) {
  if (!GetParam().isSmooth)
    return;
  auto first = compile(program(1)), second = compile(program(2));
  ASSERT_TRUE(first && second);
  expectGradients(*second, [&] {
    // The same weighted sum of the first gradients that the program differentiates.
    double total = 0;
    for (auto [i, gradient] : llvm::enumerate(evaluate(*first))) {
      double sum = 0;
      for (auto [j, element] : llvm::enumerate(gradient))
        sum += element * std::stod(std::to_string(0.5 + 0.13 * static_cast<double>((j * 7 + 5 + i) % 11)));
      total += i ? sum : -sum;
    }
    return total;
  });
}

std::string nameOf(const ::testing::TestParamInfo<DerivativeCase> &info) { return info.param.name; }
INSTANTIATE_TEST_SUITE_P(Region, DerivativesTest, ::testing::ValuesIn(kRegion), nameOf);
INSTANTIATE_TEST_SUITE_P(Manual, DerivativesTest, ::testing::ValuesIn(kManual), nameOf);
INSTANTIATE_TEST_SUITE_P(ManualKinked, DerivativesTest, ::testing::ValuesIn(kManualKinked), nameOf);
INSTANTIATE_TEST_SUITE_P(Unary, DerivativesTest, ::testing::ValuesIn(kUnary), nameOf);
INSTANTIATE_TEST_SUITE_P(Binary, DerivativesTest, ::testing::ValuesIn(kBinary), nameOf);
INSTANTIATE_TEST_SUITE_P(Shape, DerivativesTest, ::testing::ValuesIn(kShape), nameOf);
INSTANTIATE_TEST_SUITE_P(Reduction, DerivativesTest, ::testing::ValuesIn(kReduction), nameOf);
INSTANTIATE_TEST_SUITE_P(Index, DerivativesTest, ::testing::ValuesIn(kIndex), nameOf);

// Whoever adds an operation says what its derivative is, and adds a case.
TEST_F(IrTest, EveryDerivativeIsCompared) {
  std::string all;
  for (llvm::ArrayRef<DerivativeCase> cases :
       {llvm::ArrayRef<DerivativeCase>(kUnary), llvm::ArrayRef<DerivativeCase>(kBinary),
        llvm::ArrayRef<DerivativeCase>(kShape), llvm::ArrayRef<DerivativeCase>(kReduction),
        llvm::ArrayRef<DerivativeCase>(kIndex), llvm::ArrayRef<DerivativeCase>(kRegion),
        llvm::ArrayRef<DerivativeCase>(kManual)})
    for (const DerivativeCase &test : cases)
      all += std::string(test.body) + "\n";
  // Differentiated by the pass itself.
  static const std::set<std::string> kRegions = {"array.if", "array.for", "array.checkpoint", "spmd.manual"};
  // `while` is an error; others give integers, have no result, or are there only before or after differentiation.
  static const std::set<std::string> kNone = {"array.while",     "array.gradient",  "array.yield",
                                              "array.print",     "spmd.axis_index", "spmd.shard_start",
                                              "spmd.shard_size", "spmd.reshard",    "spmd.sharding_group",
                                              "spmd.exchange",   "spmd.yield"};
  size_t count = 0;
  for (mlir::RegisteredOperationName name : context.getRegisteredOperations()) {
    std::string text = name.getStringRef().str();
    if (name.getDialectNamespace() != "array" && name.getDialectNamespace() != "spmd")
      continue;
    bool isCompared = name.hasInterface<DifferentiableOpInterface>() || kRegions.count(text);
    EXPECT_EQ(isCompared + name.hasTrait<ZeroDerivative>() + kNone.count(text), 1u) << text;
    if (!isCompared)
      continue;
    ++count;
    EXPECT_TRUE(all.find(text + " ") != std::string::npos || all.find(text + "(") != std::string::npos)
        << text << " is in no case";
  }
  EXPECT_GT(count, 60u);
}

} // namespace
