//===- Passes.td - rewrites of the global view before propagation ---*- tablegen -*-===//
#ifndef SPMDC_SIMPLIFY_PASSES
#define SPMDC_SIMPLIFY_PASSES

include "mlir/Pass/PassBase.td"

def KnownIndicesPass : Pass<"spmdc-known-indices", "mlir::ModuleOp"> {
  let summary = "Turns lookups at compile-time indices into slices";
  let description = [{
    Before: the array program, gradients not yet taken.

    Where the indices of an array.take or array.take_along depend on constants and positions alone and are a few affine
    functions of positions (KnownIntegers.h), slices, reversals, broadcasts, reshapes, and concatenations of these take
    its place. A selection whose predicate is known to be the same everywhere is what it selects. Other lookups stay.

    After: the same.
    ```
    %0 = array.take %x, %i dim 0 : <f32[512]>, <i32[512]> -> <f32[512]>
    ```
    becomes, where `%i` is (iota + 1) % 512,
    ```
    %0 = array.slice %x [1] to [512] step [1] : <f32[512]> -> <f32[511]>
    %1 = array.slice %x [0] to [1] step [1] : <f32[512]> -> <f32[1]>
    %2 = array.concatenate %0, %1 dim 0 : <f32[511]>, <f32[1]> -> <f32[512]>
    ```
  }];
  let dependentDialects = ["::spmdc::SpmdDialect", "::spmdc::ArrayDialect"];
}

def SimplifyPass : Pass<"spmdc-simplify", "mlir::ModuleOp"> {
  let summary = "Canonicalizes, and computes once what is computed twice; names stay";
  let description = [{
    What `--canonicalize --cse` do. The replacement of a value takes the names that `let` gave to it
    (ir/spmd/ValueNames.h).
  }];
}

def SplitConstantsPass : Pass<"spmdc-split-constants", "mlir::ModuleOp"> {
  let summary = "Gives every user of a constant a copy of its own";
  let description = [{
    Before: global view, one block a function. After: what is computed from constants and scalars alone has one user, so
    that it connects no two operations through which shardings would propagate, and each device computes the shard that
    its user needs. A large value that is computed from run-time scalars stays shared. Inside of large constant
    expressions (random numbers) subexpressions stay shared: each is copied once for each operation that uses its
    result. Scalars connect nothing and stay shared too.
    ```
    %c = array.constant ...            %c = array.constant ...
    %0 = array.add %x, %c              %0 = array.add %x, %c
    %1 = array.add %y, %c    becomes   %d = array.constant ...
                                       %1 = array.add %y, %d
    ```
  }];
}

def SplitMergedDimsPass : Pass<"spmdc-split-merged-dims", "mlir::ModuleOp"> {
  let summary = "Writes a merged dimension as the dimensions that it was merged of, where these are sharded";
  let description = [{
    Before: global view; every user of a constant has a copy of its own (spmdc-split-constants).

    An axis that shards a dimension stops at a reshape that merges it, as a minor one, with others: no device would have
    a run of elements of the merged dimension. A propagation on trial finds these reshapes. A dimension that is merged
    so is written as several in all operations that treat each of its indices independently, or reduce over all of them:
    element-wise operations, free, batch and contracted dimensions of products, reductions, loops and branches. A
    reshape remains where an operation needs the merged dimension (sorts, slices, lookups along it, results, annotated
    values), and where a value comes with it (parameters). What an axis would reach then is followed through later
    reshapes, too.

    After: the same. Nothing changes in a program whose merged dimensions no axis would shard along a minor part.
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
