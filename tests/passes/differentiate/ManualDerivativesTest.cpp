//===- ManualDerivativesTest.cpp - shard_map and its collectives ---------===//

#include "tests/passes/differentiate/DerivativesTestHelper.h"

using namespace spmdc;

namespace {

/// A region over OVER with x sharded as X and y as Y.
#define REGION(NAME, OVER, X, Y, RESULT, BODY)                                                                         \
  {NAME,                                                                                                               \
   "%xc = spmd.constraint %x : <f64[4, 2]> -> <" X ">\n"                                                               \
   "%yc = spmd.constraint %y : <f64[4, 1]> -> <" Y ">\n"                                                               \
   "%m = spmd.manual(%xc, %yc) " OVER "{\n^bb0(%u: !spmd.array<f64[4, 1]>, %v: !spmd.array<f64[4, 1]>):\n" BODY        \
   "} : (!spmd.array<" X ">, !spmd.array<" Y ">) -> !spmd.array<" RESULT ">\n"                                         \
   "%r = array.sin %m : (<" RESULT ">) -> <f64[4, 2]>",                                                                \
   {"f64[4, 2]", "f64[4, 1]"},                                                                                         \
   "f64[4, 2]",                                                                                                        \
   0.1,                                                                                                                \
   2,                                                                                                                  \
   true}

/// Local arrays of x: f64[4, 2@a] and of the replicated y: f64[2]; %u varies over a, %v does not.
#define MANUAL(NAME, RESULT, BODY) REGION(NAME, "", "f64[4@_, 2@a]", "f64[4@_, 1@_]", RESULT, BODY)

/// The same, manual along a alone, on a mesh with another axis.
#define MANUAL_OVER_A(NAME, RESULT, BODY) REGION(NAME, "over <a> ", "f64[4, 2@\"a?\"]", "f64[4, 1]", RESULT, BODY)

const DerivativeCase kManual[] = {
    MANUAL_OVER_A("over_one_axis", "f64[4, 2@\"a?\"]",
                  "%0 = array.multiply %u, %v : <f64[4, 1]>\n"
                  "%w = spmd.constraint %0 : <f64[4, 1]> -> <f64[4@b, 1]>\n"
                  "%1 = spmd.all_reduce sum %w over <a> : <f64[4@b, 1]> -> <f64[4, 1]>\n"
                  "%2 = array.reduce sum %1 dims [0] : <f64[4, 1]> -> <f64[1]>\n"
                  "%3 = array.broadcast_in_dim %2 dims [1] : <f64[1]> -> <f64[4, 1]>\n"
                  "%4 = array.multiply %3, %u : <f64[4, 1]>\n%5 = array.multiply %4, %v : <f64[4, 1]>\n"
                  "spmd.yield %5 : !spmd.array<f64[4, 1]>\n"),
    MANUAL_OVER_A("over_one_axis_in_a_loop", "f64[4, 2@\"a?\"]",
                  "%0 = array.for 0 to 2 (%u) {\n^bb0(%k: !spmd.array<i32[]>, %c: !spmd.array<f64[4, 1]>):\n"
                  "  %1 = array.multiply %c, %v : <f64[4, 1]>\n"
                  "  %2 = spmd.all_reduce sum %1 over <a> : <f64[4, 1]> -> <f64[4, 1]>\n"
                  "  %3 = array.multiply %2, %c : <f64[4, 1]>\n"
                  "  %4 = array.sin %3 : <f64[4, 1]>\n"
                  "  array.yield %4 : !spmd.array<f64[4, 1]>\n"
                  "} : (!spmd.array<f64[4, 1]>) -> !spmd.array<f64[4, 1]>\n"
                  "spmd.yield %0 : !spmd.array<f64[4, 1]>\n"),
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
    // Each device uses the gathered value in its own way.
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
    // Only some devices run a loop, which reads a value that all devices share.
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

DIFFERENTIATE(Manual, kManual);
DIFFERENTIATE(ManualKinked, kManualKinked);

} // namespace
