//===- Passes.td - derivatives -----------------------------*- tablegen -*-===//
#ifndef SPMDC_DIFFERENTIATE_PASSES
#define SPMDC_DIFFERENTIATE_PASSES

include "mlir/Pass/PassBase.td"

def DifferentiatePass : Pass<"spmdc-differentiate", "mlir::ModuleOp"> {
  let summary = "Replaces derivatives by the operations that compute them";
  let description = [{
    Before: the global view as emitted by the front end; derivatives are array.gradient, with array.stop_gradient and
    array.checkpoint inside.

    Reverse mode, innermost derivative first. Only values that depend on the arguments are differentiated. The backward
    pass uses values of the forward pass directly, except those that a checkpoint recomputes after
    array.optimization_barrier. The cotangents that reach one value are summed before the sweep continues. Operations of
    the backward pass have the location of the operation that they differentiate.

    After: no array.gradient, array.stop_gradient, array.checkpoint or unused operations are left.
    ```
    %g:2 = array.gradient(%x) {
    ^bb0(%a: !spmd.array<f32[]>):                        %0 = array.sin %x : <f32[]>
      %0 = array.sin %a : <f32[]>             becomes    %1 = array.cos %x : <f32[]>
      array.yield %0 : !spmd.array<f32[]>
    } : (!spmd.array<f32[]>) -> ...
    ```
  }];
  let dependentDialects = ["::spmdc::ArrayDialect", "::spmdc::SpmdDialect"];
}

def VerifyDifferentiatedPass : Pass<"spmdc-verify-differentiated", "mlir::ModuleOp"> {
  let summary = "Checks the invariants after differentiation";
  let description = [{
    Fails at an array.gradient, array.stop_gradient or array.checkpoint that is left, and at a collective of a manual
    region under a condition that varies over the collective's axes. Changes nothing.
  }];
}

#endif
