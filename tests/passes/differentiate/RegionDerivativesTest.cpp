//===- RegionDerivativesTest.cpp - loops, branches, checkpoints ----------===//

#include "tests/passes/differentiate/DerivativesTestHelper.h"

using namespace spmdc;

namespace {

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
    // Carries that swap, so that each reaches the result only through the other.
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

DIFFERENTIATE(Region, kRegion);

} // namespace
