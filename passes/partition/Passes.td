//===- Passes.td - from chosen shardings to one device's program ---*- tablegen -*-===//
#ifndef SPMDC_PARTITION_PASSES
#define SPMDC_PARTITION_PASSES

include "mlir/Pass/PassBase.td"

def InsertReshards : Pass<"spmdc-insert-reshards", "mlir::ModuleOp"> {
  let summary = "Makes the shardings around each operation agree";
  let description = [{
    Before: every array has a closed sharding (spmdc-propagate); an operation's operands and result may disagree.

    For each operation the axes of its factors are chosen: the cheapest of what its operands and its result suggest,
    and, where that needs communication, of all other strategies, weighing bytes on the wire against computation that
    would be repeated on several devices. Operands with another sharding get a spmd.reshard in front (in front of a loop
    that does not define them, where one serves all iterations), or are rematerialized (Rematerialization.h); a term to which an
    operation adds partial sums becomes one; the result keeps its propagated sharding, through a spmd.reshard behind
    where the operation computes it otherwise. Partial sums show as unreduced axes; those of bf16 and f16 are f32,
    unless the module says otherwise (ir/spmd/ReducePrecision.h).

    What a loop's carry starts from and what its body yields take the carry's sharding, what a branch yields the
    result's.

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

    A warning at the location of each spmd.reshard from a sharded array to a replicated one, with the bytes and the
    reason, unless the user asked for it (the array, or values as large that are computed from it, are annotated as
    replicated) or it is small. Gathers of a shard_map are the user's. Changes nothing.
  }];
  let options = [
    Option<"minBytes", "min-bytes", "int64_t", "1 << 20", "Arrays of fewer bytes are gathered silently">,
  ];
}

def Partition : Pass<"spmdc-partition", "mlir::ModuleOp"> {
  let summary = "Turns the global program into one device's program";
  let description = [{
    Before: the shardings around each operation agree (spmdc-insert-reshards).

    Every array becomes its padded shard; every spmd.reshard the cheapest sequence of collectives and local slices, or,
    of what is read at one run-time index of a sharded dimension, a broadcast from its owner (OwnerRead.h); a reduction
    over an uneven dimension has its operands' padding masked with what does not change the result. Sums of bf16 and f16
    that a user adds up over devices are widened with them (WidenSums.h). Function arguments and results keep their
    global type in `spmd.global`, printed values in `globals`. Loops and branches stay, around local blocks.

    After: no array has a sharding, no spmd.reshard is left; collectives are explicit, named by axes, with the reason
    in `why`.
  }];
  let dependentDialects = ["::spmdc::SpmdDialect", "::spmdc::ArrayDialect"];
}

def DropBarriers : Pass<"spmdc-drop-barriers", "mlir::ModuleOp"> {
  let summary = "Removes array.optimization_barrier";
  let description = [{
    Before: one device's program, after the last elimination of common subexpressions.

    The recomputed values of a checkpoint have been kept apart from the forward pass until here; now the barriers are
    values like their operands, and kernels are formed across them.

    After: no array.optimization_barrier is left. `%1 = array.optimization_barrier %0 : <f32[8]>` goes; its users use
    `%0`.
  }];
}

def VerifyPartitioned : Pass<"spmdc-verify-partitioned", "mlir::ModuleOp"> {
  let summary = "Checks the exit of the partitioned stage";
  let description = [{
    Fails with the operation's place where a sharding, a spmd.reshard, a spmd.constraint or a spmd.sharding_group is
    left, or where a function argument or result lacks its `spmd.global`. Changes nothing.
  }];
}

#endif
