//===- Passes.td - where partial sums are reduced ----------*- tablegen -*-===//
#ifndef SPMDC_REDUCTIONS_PASSES
#define SPMDC_REDUCTIONS_PASSES

include "mlir/Pass/PassBase.td"

def HoistSlices : Pass<"spmdc-hoist-slices", "mlir::ModuleOp"> {
  let summary = "Reduces only the used elements of partial sums";
  let description = [{
    Before: the shardings around each operation agree (spmdc-insert-reshards).

    A slice or lookup of a value that element-wise operations compute from reduced partial sums, and that has no other
    use, is moved before these operations and the reduction (slice hoisting). Indices are resharded as the partial sums
    need them. Only where that takes less time by the cost model.

    After: the same.
    ```
    %1 = spmd.reshard %0 : <f32[64@_, 8@_] unreduced(a)> -> <f32[64@_, 8@_]>
    %2 = array.add %x, %1 : <f32[64@_, 8@_]>
    %3 = array.slice %2 [63, 0] to [64, 8] : <f32[64@_, 8@_]> -> <f32[1@_, 8@_]>
    ```
    becomes
    ```
    %1 = array.slice %x [63, 0] to [64, 8] : <f32[64@_, 8@_]> -> <f32[1@_, 8@_]>
    %2 = array.slice %0 [63, 0] to [64, 8] : <f32[64@_, 8@_] unreduced(a)> -> <f32[1@_, 8@_] unreduced(a)>
    %3 = spmd.reshard %2 : <f32[1@_, 8@_] unreduced(a)> -> <f32[1@_, 8@_]>
    %4 = array.add %1, %3 : <f32[1@_, 8@_]>
    ```
  }];
  let dependentDialects = ["::spmdc::SpmdDialect", "::spmdc::ArrayDialect"];
}

def SinkReductions : Pass<"spmdc-sink-reductions", "mlir::ModuleOp"> {
  let summary = "Adds partial sums before they are reduced";
  let description = [{
    Before: the shardings around each operation agree (spmdc-insert-reshards).

    If partial sums are reduced and then added, with linear operations in between, the pass adds them first and reduces
    the sum once. A loop's carry to which iterations add partial sums, or updates at indices, becomes unreduced, and is
    reduced after the loop. A branch may be part of the linear region: it yields partial sums, and reduces those that it
    uses otherwise. A replicated term (a bias, a loop's initial value) becomes a partial sum, which sends nothing. A
    reduction also moves after a slice or a sum along dimensions, which leaves fewer elements; after a sum along sharded
    dimensions, it reduces over their axes as well. All this is done only if it takes less time by the cost model.

    After: the same.
    ```
    %1 = spmd.reshard %0 : <f32[8@_] unreduced(a)> -> <f32[8@_]>
    %3 = spmd.reshard %2 : <f32[8@_] unreduced(a)> -> <f32[8@_]>
    %4 = array.add %1, %3 : <f32[8@_]>
    ```
    becomes
    ```
    %4 = array.add %0, %2 : <f32[8@_] unreduced(a)>
    %5 = spmd.reshard %4 : <f32[8@_] unreduced(a)> -> <f32[8@_]>
    ```
  }];
  let options = [
    Option<"growCarries", "grow-carries", "bool", "true",
           "Allow unreduced loop carries whose local array is larger than that of the reduced carry">,
  ];
  let dependentDialects = ["::spmdc::SpmdDialect", "::spmdc::ArrayDialect"];
}

#endif
