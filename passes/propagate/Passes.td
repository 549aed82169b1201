//===- Passes.td - passes of the stage `propagated` -------*- tablegen -*-===//
#ifndef SPMDC_PROPAGATE_PASSES
#define SPMDC_PROPAGATE_PASSES

include "mlir/Pass/PassBase.td"

def PropagatePass : Pass<"spmdc-propagate", "mlir::ModuleOp"> {
  let summary = "Gives every array a sharding, from the user's annotations";
  let description = [{
    Before: global shapes; shardings on the types of arguments, constraints and other results are the user's annotations
    (open dimensions may be sharded further, closed ones never change); functions have one block and are inlined.

    Axes propagate along the factors that sharding rules connect, forward and backward, until nothing changes: by
    ascending user priority, pass-through operations before contractions before forward broadcasts (the semantics are
    Shardy's; docs/propagation.md walks through an example).

    The arguments and the result of a loop's carry share one sharding. Axes also propagate between it and the initial
    value and the value that the body yields, and between the results of a conditional and the values that its branches
    yield.

    After: every array of rank 1 and more has a closed sharding over known axes without priorities, and function types
    agree. The pass removes each spmd.sharding_group. It removes a spmd.constraint if the operand has that sharding, and
    replaces it with a spmd.reshard otherwise. If a constraint follows another one, the reshard reads the operand of the
    first one, provided that nothing else uses the sharding between them, or that the operand already has the final
    sharding. A constraint whose only user is another constraint does not mark its value `spmd.annotated`.
    ```
    func.func @main(%x: !spmd.array<f32[8@a, 4@b]>, %y: !spmd.array<f32[4@b, 6]>) -> !spmd.array<f32[8, 6]> {
      %0 = array.dot_general %x, %y contract [1] x [0] batch [] x [] : <f32[8@a, 4@b]>, <f32[4@b, 6]> -> <f32[8, 6]>
    ```
    becomes
    ```
    func.func @main(%x: !spmd.array<f32[8@a, 4@b]>, %y: !spmd.array<f32[4@b, 6@_]>) -> !spmd.array<f32[8@a, 6@_]> {
      %0 = array.dot_general %x, %y ... : <f32[8@a, 4@b]>, <f32[4@b, 6@_]> -> <f32[8@a, 6@_]>
    ```
  }];
  let options = [
    Option<"strategy", "strategy", "::spmdc::PropagationStrategy", "::spmdc::PropagationStrategy::Settle",
           "How conflicts between shardings are resolved",
           [{::llvm::cl::values(
               clEnumValN(::spmdc::PropagationStrategy::Basic, "basic",
                          "propagate only axes on which all arrays of an operation agree"),
               clEnumValN(::spmdc::PropagationStrategy::Aggressive, "aggressive",
                          "if several factors want one axis, the one from the largest array gets it"),
               clEnumValN(::spmdc::PropagationStrategy::Settle, "settle",
                          "aggressive, and if arrays shard one factor differently, open ones follow the largest"))}]>,
    Option<"remarks", "remarks", "bool", "false",
           "Report each propagated axis with its source and target, and each array that could not take it, with "
           "the reason">,
  ];
  let dependentDialects = ["::spmdc::SpmdDialect"];
}

def VerifyPropagatedPass : Pass<"spmdc-verify-propagated", "mlir::ModuleOp"> {
  let summary = "Checks the invariants of the stage `propagated`";
  let description = [{
    Fails on an array without a closed sharding or with an axis that the mesh does not have, on a remaining
    spmd.constraint or spmd.sharding_group, and on an array whose padded shards together are larger than an array may be
    (runtime/support/ArraySize.h). Changes nothing.
  }];
}

#endif
