//===- Passes.td - derivatives taken --------------------------*- tablegen -*-===//
#ifndef SPMDC_DIFFERENTIATE_PASSES
#define SPMDC_DIFFERENTIATE_PASSES

include "mlir/Pass/PassBase.td"

def DifferentiatePass : Pass<"spmdc-differentiate", "mlir::ModuleOp"> {
  let summary = "Replaces derivatives by the operations that compute them";
  let description = [{
    Before: global view, straight from the front end; derivatives are array.gradient, with array.stop_gradient and
    array.checkpoint in them.

    Reverse mode, innermost derivative first. Only values that depend on the arguments are differentiated; values of the
    forward pass are used where they are (but for what a checkpoint computes again, behind
    array.optimization_barrier); the cotangents that reach one value are summed before anything else happens to them.
    Operations of the backward pass have the source place of the operation that they differentiate.

    After: array.gradient, array.stop_gradient and array.checkpoint are gone, and so are unused operations.
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
  let summary = "Checks the exit of differentiation";
  let description = [{
    Fails with the place of a leftover array.gradient, array.stop_gradient or array.checkpoint, and of a collective in a
    manual region under a condition that varies over its axes. Changes nothing.
  }];
}

#endif
