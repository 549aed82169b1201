//===- Passes.td - rewrites before propagation -------------*- tablegen -*-===//
#ifndef SPMDC_SIMPLIFY_PASSES
#define SPMDC_SIMPLIFY_PASSES

include "mlir/Pass/PassBase.td"

def KnownIndicesPass : Pass<"spmdc-known-indices", "mlir::ModuleOp"> {
  let summary = "Turns lookups at compile-time indices into slices";
  let description = [{
    Before: the array program, derivatives not yet taken.

    If the indices of an array.take or array.take_along depend only on constants and positions, and are a few affine
    functions of positions (KnownIntegers.h), the pass replaces the lookup by slices, reversals, broadcasts, reshapes,
    and concatenations of these. Computed starts of an array.dynamic_slice or an array.dynamic_update_slice that are known
    become constants. A select whose predicate is known to be constant is replaced by its operand. Other
    lookups stay.

    After: the same.
    ```
    %0 = array.take %x, %i dim 0 : <f32[512]>, <i32[512]> -> <f32[512]>
    ```
    becomes, if `%i` is (iota + 1) % 512,
    ```
    %0 = array.slice %x [1] to [512] step [1] : <f32[512]> -> <f32[511]>
    %1 = array.slice %x [0] to [1] step [1] : <f32[512]> -> <f32[1]>
    %2 = array.concatenate %0, %1 dim 0 : <f32[511]>, <f32[1]> -> <f32[512]>
    ```
  }];
  let dependentDialects = ["::spmdc::SpmdDialect", "::spmdc::ArrayDialect"];
}

def SimplifyPass : Pass<"spmdc-simplify", "mlir::ModuleOp"> {
  let summary = "Canonicalizes and eliminates common subexpressions; names stay";
  let description = [{
    The same as `--canonicalize --cse`, except that the replacement of a value takes the names that `let` gave to it
    (ir/spmd/ValueNames.h).
  }];
}

def SplitConstantsPass : Pass<"spmdc-split-constants", "mlir::ModuleOp"> {
  let summary = "Gives every user of a constant a copy of its own";
  let description = [{
    Before: global view, one block a function. After: a value that is computed only from constants and scalars has one
    user. So it does not connect two operations, and shardings do not propagate through it; each device computes the
    shard that the user needs. A large value that is computed from run-time scalars stays shared. Within large constant
    expressions (random numbers) subexpressions stay shared: each is copied once for each operation that uses its
    result. Scalars connect nothing and stay shared, too.
    ```
    %c = array.constant ...            %c = array.constant ...
    %0 = array.add %x, %c              %0 = array.add %x, %c
    %1 = array.add %y, %c    becomes   %d = array.constant ...
                                       %1 = array.add %y, %d
    ```
  }];
}

def SplitMergedDimsPass : Pass<"spmdc-split-merged-dims", "mlir::ModuleOp"> {
  let summary = "Splits merged dimensions into the original dimensions if these are sharded";
  let description = [{
    Before: global view; every user of a constant has a copy of its own (spmdc-split-constants).

    An axis that shards a dimension stops at a reshape that merges it, as a minor one, with others: a device's elements
    would not be contiguous in the merged dimension. A trial propagation finds these reshapes. The pass then splits such
    a merged dimension in all operations that treat each of its indices independently, or reduce over all of them:
    element-wise operations, free, batch and contracted dimensions of products, reductions, loops and branches. A
    reshape remains if an operation needs the merged dimension (sorts, slices, lookups along it, results, annotated
    values), and after a parameter that has the merged dimension. The pass also follows the axis through later reshapes
    that it would reach then.

    After: the same. A program changes only if an axis would shard a minor part of a merged dimension.
    ```
    %0 = array.reshape %x : <f32[8, 512@a, 64]> -> <f32[4096, 64]>
    %1 = array.dot_general %0, %w contract [1] x [0] ... : <f32[4096, 64]>, <f32[64, 128]> -> <f32[4096, 128]>
    %2 = array.reshape %1 : <f32[4096, 128]> -> <f32[8, 512, 128]>
    ```
    becomes
    ```
    %1 = array.dot_general %x, %w contract [2] x [0] ... : <f32[8, 512@a, 64]>, <f32[64, 128]> -> <f32[8, 512, 128]>
    ```
  }];
  let dependentDialects = ["::spmdc::ArrayDialect", "::spmdc::SpmdDialect"];
}

#endif
