//===- Passes.td - from the propagated to the chosen shardings ---*- tablegen -*-===//
#ifndef SPMDC_ASSIGN_PASSES
#define SPMDC_ASSIGN_PASSES

include "mlir/Pass/PassBase.td"

def ChooseShardings : Pass<"spmdc-choose-shardings", "mlir::ModuleOp"> {
  let summary = "Chooses shardings of values without annotation by cost";
  let description = [{
    Before: the propagated program. After: the same, with other shardings of values that are not `spmd.annotated`
    (operations' results and carries of loops; never parameters and results), where the operations around them then send
    less and take less time by the cost model. The attribute `spmd.annotated` is removed.

    Propagation looks at one operation at a time. It replicates the gradient of a replicated parameter (one all_reduce),
    also if each device updates its own shard only. This pass shards the gradient like the update: a reduce_scatter,
    half of the bytes (ZeRO). Products in sequence change together, with all operations between.

    A device holds no more of a value than after propagation. The third search alone allows up to the size of the
    largest shard of any value; its result is used only if it is faster and sends no more. If iterations of a loop slice
    arrays along a sharded dimension, another dimension may be sharded instead, if that is much faster.

    The search is local. For each operation that sends something, those that send most first, it tries each strategy
    that would send less, and carries the change through the operations around that follow without communication. A
    change is kept if all operations that touch a changed value together send less and take less time. The work is
    bounded. A second and a third search first extend each change over many operations, also through contractions and
    reductions along the dimensions that they share: an attention that is sharded by heads becomes sharded by rows of
    the batch, with its derivative. The best result is kept. Then a single operation may take an operand in a sharding
    that exceeds the limit (FSDP: each layer gathers its weight, because the rows of the batch are sharded over an axis
    of the weight).

    Then all shardings and all strategies are chosen together, by dynamic programming over the graph of operations and
    values (ExactSolver.h), which is exact where its tables stay small. This result and the best so far are partitioned
    on trial, and this one is kept if it sends less.

    If slices of a product are used, or products of concatenated arrays (SplitProducts.h), the search runs again for the
    program that multiplies the slices separately, which is kept if it is better and sends less:
    ```
    %0 = array.dot_general %x, %w ... : <f32[8192@a, 64@_]>, <f32[64@_, 32@b]> -> <f32[8192@a, 32@b]>
    %1 = array.slice %0 [0, 0] to [8192, 16] step [1, 1] : <f32[8192@a, 32@b]> -> <f32[8192@a, 16@b]>
    ```
    becomes
    ```
    %0 = array.slice %w [0, 0] to [64, 16] step [1, 1] : <f32[64@_, 32@b]> -> <f32[64@_, 16@b]>
    %1 = array.dot_general %x, %0 ... : <f32[8192@a, 64@_]>, <f32[64@_, 16@b]> -> <f32[8192@a, 16@b]>
    ```
    The same holds for slices of arrays in which elements are looked up (LookUpFirst.h): the lookup reads the full
    array.
  }];
  let options = [
    Option<"remarks", "remarks", "bool", "false", "Emit a remark for each changed sharding">,
    Option<"effort", "effort", "int64_t", "600",
           "The largest number of priced strategies in each of three searches of a function">,
  ];
}

#endif
