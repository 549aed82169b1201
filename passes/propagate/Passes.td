//===- Passes.td - from the array program to the propagated one -*- tablegen -*-===//
#ifndef SPMDC_PROPAGATE_PASSES
#define SPMDC_PROPAGATE_PASSES

include "mlir/Pass/PassBase.td"

def PropagatePass : Pass<"spmdc-propagate", "mlir::ModuleOp"> {
  let summary = "Gives every array a sharding, from the user's annotations";
  let description = [{
    Before: global shapes; shardings on the types of arguments, constraints and other results are the user's annotations
    (open dimensions may be sharded further, closed ones never change); functions have one block and are inlined.

    Axes travel along the factors that operations' sharding rules connect, forward and backward, until nothing changes:
    user priority by user priority, pass-through operations before contractions before forward broadcasts (semantics
    are Shardy's; docs/propagation.md walks through an example).

    The arguments and the result of a loop's carry have one sharding; axes also travel to it from what the loop starts
    with and from what its body yields (and back), and between the results of a branch and the values that it yields.

    After: every array of rank 1 and more has a closed sharding over known axes without priorities, and function types
    agree; spmd.sharding_group is gone; a spmd.constraint is gone where its operand has that sharding, and a
    spmd.reshard where it has not. A constraint behind another one reshards what that one was given, if nothing else
    uses the sharding between or if the value already had the sharding that is asked for; what is computed for nothing
    but such a sharding between is not marked as annotated.
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
           "How conflicts are resolved",
           [{::llvm::cl::values(
               clEnumValN(::spmdc::PropagationStrategy::Basic, "basic",
                          "propagate only what all arrays of an operation agree on"),
               clEnumValN(::spmdc::PropagationStrategy::Aggressive, "aggressive",
                          "where factors want one axis, the one from the largest array gets it"),
               clEnumValN(::spmdc::PropagationStrategy::Settle, "settle",
                          "and where arrays shard one factor differently, open ones follow the largest they can"))}]>,
    Option<"remarks", "remarks", "bool", "false",
           "Report each propagated axis with its source and target, and each array that could not take it, with "
           "the reason">,
  ];
  let dependentDialects = ["::spmdc::SpmdDialect"];
}

def VerifyPropagatedPass : Pass<"spmdc-verify-propagated", "mlir::ModuleOp"> {
  let summary = "Checks the exit of the propagated stage";
  let description = [{
    Fails with the place of an array without a closed sharding, with an axis that the mesh does not have, or with a
    leftover spmd.constraint or spmd.sharding_group, and with an array whose padded shards together are larger than an
    array may be (runtime/support/ArraySize.h). Changes nothing.
  }];
}

#endif
