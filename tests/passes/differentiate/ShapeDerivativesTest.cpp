//===- ShapeDerivativesTest.cpp - what moves elements --------------------===//

#include "tests/passes/differentiate/DerivativesTestHelper.h"

using namespace spmdc;

namespace {

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

// Indices in range, out of range on either side, and a repeated one.
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

DIFFERENTIATE(Shape, kShape);
DIFFERENTIATE(Index, kIndex);

} // namespace
