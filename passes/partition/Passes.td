//===- Passes.td - from chosen shardings to one device's program ---*- tablegen -*-===//
#ifndef SPMDC_PARTITION_PASSES
#define SPMDC_PARTITION_PASSES

include "mlir/Pass/PassBase.td"

def InsertReshards : Pass<"spmdc-insert-reshards", "mlir::ModuleOp"> {
  let summary = "Makes the shardings around each operation agree";
  let description = [{
    Before: every array has a closed sharding (spmdc-propagate); an operation's operands and result may disagree.

    For each operation the pass chooses a strategy: the cheapest of those that its operands and its result suggest, and,
    if that needs communication, of all strategies, weighing bytes on the wire against computation that several devices
    would repeat. Operands with another sharding are resharded before the operation (before a loop that does not define
    them, if one reshard serves all iterations), or are rematerialized (Rematerialization.h). The accumulator of an
    operation that leaves partial sums (isAddedTo) is resharded to a partial sum. The result keeps its propagated
    sharding, through a spmd.reshard after the operation if the strategy computes another one. Partial sums show as
    unreduced axes; those of bf16 and f16 are f32, unless the module says otherwise (ir/spmd/ReducePrecision.h).

    The initial value of a loop's carry and the value that its body yields get the carry's sharding; the values that
    branches yield get the result's.

    After: each operation's operands and result agree with one assignment of axes to factors; all changes of sharding
    are spmd.reshard.
    ```
    %0 = array.dot_general %x, %y ... : <f32[8@a, 4@b]>, <f32[4@b, 6@_]> -> <f32[8@a, 6@_]>
    ```
    becomes
    ```
    %0 = array.dot_general %x, %y ... : <f32[8@a, 4@b]>, <f32[4@b, 6@_]> -> <f32[8@a, 6@_] unreduced(b)>
    %1 = spmd.reshard %0 : <f32[8@a, 6@_] unreduced(b)> -> <f32[8@a, 6@_]>
    ```
  }];
  let dependentDialects = ["::spmdc::SpmdDialect", "::spmdc::ArrayDialect"];
}

def WarnReplication : Pass<"spmdc-warn-replication", "mlir::ModuleOp"> {
  let summary = "Warns of sharded arrays that become replicated";
  let description = [{
    Before: all changes of sharding are spmd.reshard.

    The pass warns at the location of each spmd.reshard from a sharded array to a replicated one, with the bytes and the
    reason, unless the array is small or the user asked for it (the array, or values as large that are computed from it,
    are annotated as replicated). It does not warn of collectives that a shard_map calls. It changes nothing.
  }];
  let options = [
    Option<"minBytes", "min-bytes", "int64_t", "1 << 20", "Warn only of arrays of at least this many bytes">,
  ];
}

def Partition : Pass<"spmdc-partition", "mlir::ModuleOp"> {
  let summary = "Turns the global program into one device's program";
  let description = [{
    Before: the shardings around each operation agree (spmdc-insert-reshards).

    Every array becomes its padded shard. Every spmd.reshard becomes the cheapest sequence of collectives and local
    slices, or a broadcast from the owner if its operand is read at one run-time index of a sharded dimension
    (OwnerRead.h). The operands of a reduction over an uneven dimension have their padding masked with the neutral
    value. Sums of bf16 and f16 that a collective of the user adds up are widened with it (WidenSums.h). Function
    arguments and results keep their global type in `spmd.global`, printed values in `globals`. Loops and branches stay,
    around local blocks.

    After: no array has a sharding, no spmd.reshard is left; collectives are explicit, named by axes, with the reason
    in `why`.
  }];
  let dependentDialects = ["::spmdc::SpmdDialect", "::spmdc::ArrayDialect"];
}

def DropBarriers : Pass<"spmdc-drop-barriers", "mlir::ModuleOp"> {
  let summary = "Removes array.optimization_barrier";
  let description = [{
    Before: one device's program, after the last elimination of common subexpressions.

    The barriers keep the recomputed values of a checkpoint apart from the forward pass, so that common subexpression
    elimination does not merge them. They are not needed any more, and would prevent fusion.

    After: no array.optimization_barrier is left. `%1 = array.optimization_barrier %0 : <f32[8]>` is erased; its users
    use `%0`.
  }];
}

def VerifyPartitioned : Pass<"spmdc-verify-partitioned", "mlir::ModuleOp"> {
  let summary = "Checks the partitioned program";
  let description = [{
    The pass fails at the location of an operation if a sharding, a spmd.reshard, a spmd.constraint or a
    spmd.sharding_group is left, or if a function argument or result lacks its `spmd.global`. It changes nothing.
  }];
}

#endif
