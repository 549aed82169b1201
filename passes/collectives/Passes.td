//===- Passes.td - collectives of the partitioned program ---*- tablegen -*-===//
#ifndef SPMDC_COLLECTIVES_PASSES
#define SPMDC_COLLECTIVES_PASSES

include "mlir/Pass/PassBase.td"

def AlignCollectives : Pass<"spmdc-align-collectives", "mlir::ModuleOp"> {
  let summary = "Lets all devices make the same calls where groups of them take different branches";
  let description = [{
    Before: in an spmd.manual region the condition around a collective may differ between groups of devices, though not
    within the collective's group (the front end sees to that). All changes of sharding are spmd.reshard: where a region
    is manual along some axes only, they and what else will be inserted along the others are collectives, too.

    Such an array.if becomes both of its branches, and a selection; such an array.while runs on all devices until none
    of them iterates, and devices that have left keep their carries. Regions without a collective stay.

    After: all devices come by every collective, in the same order.
    ```
    %0 = array.if %p {                                  %s = spmd.all_reduce sum %x over <a> : ...
      %s = spmd.all_reduce sum %x over <a> : ...        %0 = array.select %p, %s, %x : <bool[]>, ...
      array.yield %s : !spmd.array<f32[]>
    } else {                                  becomes
      array.yield %x : !spmd.array<f32[]>
    } : ...
    ```
    where `%p` varies over the axis b.
  }];
  let dependentDialects = ["::spmdc::SpmdDialect", "::spmdc::ArrayDialect"];
}

def AccumulateHalos : Pass<"spmdc-accumulate-halos", "mlir::ModuleOp"> {
  let summary = "Adds up the contributions to an element before they are sent (halo accumulation)";
  let description = [{
    Before: one device's program; collectives are explicit.

    A sum of exchanged arrays that are shifted against each other, with zeros where they are not (the gradient of a
    convolution), is added up by each device as far as it has the terms: for its own shard, and for the halos of others.
    One exchange for each neighbour sends the halos, along one dimension after the other. Only where fewer bytes are
    sent, and in no more exchanges. The reason of each says what is added up, its location is that of all exchanges
    before.

    After: the same values, but for the order in which floats are added.
    ```
    %1 = spmd.exchange %x over <a> from <f32[8@a]> to <f32[8@a]> shifted [-1] : <f32[4]> -> <f32[4]>
    %2 = spmd.exchange %y over <a> from <f32[8@a]> to <f32[8@a]> shifted [-2] : <f32[4]> -> <f32[4]>
    %3 = array.add %1, %2
    ```
    becomes: what device 0 has for elements 4 and 5 is %x[3] + %y[2] and %y[3]
    ```
    %edge = ...
    %1 = spmd.exchange %edge over <a> from <f32[4@a]> to <f32[4@a]> shifted [-2] : <f32[2]> -> <f32[2]>
    ```
  }];
  let dependentDialects = ["::spmdc::SpmdDialect", "::spmdc::ArrayDialect"];
}

def FoldCollectives : Pass<"spmdc-fold-collectives", "mlir::ModuleOp"> {
  let summary = "Folds two collectives in sequence into one";
  let description = [{
    Before: one device's program; collectives are explicit.

    An all_reduce of an all_reduce of the same kind over other axes, used by nothing else, becomes one over both, where
    that takes less time by the cost model; so do all_gathers, and reduce_scatters, along one dimension that comes out
    even. The reason of the one is those of both, its location is fused.

    A sum over several axes of which some are slow is split (ReshardPlanner.h), if that takes less time: a
    reduce_scatter over the fast axes, an all_reduce of the shard over the slow ones, an all_gather. Not of f16 and
    bf16, which one all_reduce adds in f32.

    In the end, of collectives of one block that differ in their reasons only one is left, with the reasons of all.

    After: the same.
    ```
    %1 = spmd.all_reduce sum %x over <b> : <f32[8]> -> <f32[8]>
    %2 = spmd.all_reduce sum %1 over <a> : <f32[8]> -> <f32[8]>
    ```
    becomes
    ```
    %2 = spmd.all_reduce sum %x over <a, b> : <f32[8]> -> <f32[8]>
    ```
  }];
}

def RematerializeGathers : Pass<"spmdc-rematerialize-gathers", "mlir::ModuleOp"> {
  let summary = "Frees gathered arrays under a memory limit, and gathers them again";
  let description = [{
    Before: one device's program, after the last elimination of common subexpressions.

    Where `free` asks for memory: at the point that needs most of it (MemoryEstimate.h), the gathered array that is not
    used there and frees most is not kept until its next use but gathered again, until `free` bytes are saved or nothing
    is left to be saved. Each such gather is one of the program's, with its place; its reason says that it is a
    repetition. Where there is none of these and most is needed in a loop or a branch, a value that was gathered or
    computed element-wise before that, for a use in it, is computed there, in each iteration of a loop; of loops within
    one another in the outermost that suffices.

    After: the same values.
    ```
    %1 = spmd.all_gather %w dim 0 over <d>
    %2 = array.dot_general %x, %1 ...
    ...
    %8 = array.dot_general %7, %1 ...
    ```
    becomes, with another `%9 = spmd.all_gather %w dim 0 over <d>` before it, `%8 = array.dot_general %7, %9 ...`.
  }];
  let options = [
    Option<"freeBytes", "free", "int64_t", "0", "Bytes to save at the point that needs most">,
  ];
}

def CollectiveMatmuls : Pass<"spmdc-collective-matmuls", "mlir::ModuleOp"> {
  let summary = "Splits products so that the collectives of their operands or sums overlap (collective matmul)";
  let description = [{
    Before: one device's program; collectives are explicit.

    A product whose operand one all_gather brings, and a product whose partial sums one reduce_scatter adds up, with
    nothing but transposes in between, become as many products as the group has devices, each on one shard: while a
    device multiplies with a shard, the next comes from its neighbour (collective_permute). One direction of the ring,
    or half of the shards in each. The same bytes are sent. If the gathered array has other uses behind the product, it
    is also assembled from the shards; partial sums have none. Only where the cost model says that less time passes
    (CollectiveMatmulCost.h); what would run under the collective as it is counts against it. By the default model nothing runs
    under a transfer (`overlap` is 0), so nothing changes.

    The gathered dimension may be free, contracted or a batch of the product. Not where shards are uneven (padding would
    be sent), where an operand is contracted and the result is the same on all devices of the group (each adds in an
    order of its own; integers may), nor across the borders of loops and branches. Sums have one order for each position
    in the group, whatever the processes. f16 and bf16 are added in f32: partial sums that a reduce_scatter takes in 16
    bits would be rounded at each step of a ring, and are sent directly to the device that adds them up, in groups of up
    to 32.

    After: the same. The middle of a ring is a loop, so that the program does not grow with the number of devices (the
    pairs of a permute do); direct transfers are no loop.
    ```
    %0 = spmd.all_gather %x dim 0 over <a> : <f32[2, 4]> -> <f32[4, 4]>
    %1 = array.dot_general %0, %w contract [1] x [0] batch [] x [] : <f32[4, 4]>, <f32[4, 8]> -> <f32[4, 8]>
    ```
    with a=2 becomes
    ```
    %i = spmd.axis_index <a> : <i32[]>
    %r = spmd.collective_permute %x pairs [0, 1, 1, 0] over <a> : <f32[2, 4]> -> <f32[2, 4]>
    %p = array.dot_general %x, %w ... -> <f32[2, 8]>
    %q = array.dynamic_update_slice %zeros, %p at (2 * %i, 0)
    %s = array.dot_general %r, %w ... -> <f32[2, 8]>
    %1 = array.dynamic_update_slice %q, %s at (2 * ((%i + 1) rem 2), 0)
    ```
  }];
  let dependentDialects = ["::spmdc::SpmdDialect", "::spmdc::ArrayDialect"];
}

def CombineCollectives : Pass<"spmdc-combine-collectives", "mlir::ModuleOp"> {
  let summary = "Makes one collective of several small ones";
  let description = [{
    Before: one device's program; collectives are explicit.

    all_reduces of one kind, element type and axes in a block, none of which needs another's result, are done by one
    call, where the time of the calls that it saves is more than that of bringing their arrays together and apart again
    (both by the cost model), up to 4 MiB; so are all_gathers, reduce_scatters and all_to_alls whose shards have one
    size, along whatever dimensions, collective_permutes of the same pairs, and collective_broadcasts from the same
    root. The one runs where the first of them did, or as soon as all operands are there. Each element is reduced as
    before, so the results have the same bits.

    After: the same.
    ```
    %1 = spmd.all_reduce sum %x over <a> : <f32[8]> -> <f32[8]>
    %2 = spmd.all_reduce sum %y over <a> : <f32[2, 3]> -> <f32[2, 3]>
    ```
    becomes
    ```
    %0 = array.reshape %x : <f32[8]> -> <f32[1, 8]>
    %3 = array.reshape %y : <f32[2, 3]> -> <f32[1, 6]>
    %4 = array.concatenate %0, %3 dim 1 : !spmd.array<f32[1, 8]>, !spmd.array<f32[1, 6]> -> <f32[1, 14]>
    %5 = spmd.all_reduce sum %4 over <a> : <f32[1, 14]> -> <f32[1, 14]>
    %6 = array.slice %5 [0, 0] to [1, 8] step [1, 1] : <f32[1, 14]> -> <f32[1, 8]>
    %1 = array.reshape %6 : <f32[1, 8]> -> <f32[8]>
    ...
    ```
  }];
  let dependentDialects = ["::spmdc::SpmdDialect", "::spmdc::ArrayDialect"];
}

#endif
