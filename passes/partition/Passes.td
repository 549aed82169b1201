//===- Passes.td - from the propagated to the partitioned program ---*- tablegen -*-===//
#ifndef SPMDC_PARTITION_PASSES
#define SPMDC_PARTITION_PASSES

include "mlir/Pass/PassBase.td"

def OrderContractions : Pass<"spmdc-order-contractions", "mlir::ModuleOp"> {
  let summary = "Decides in which order an einsum multiplies its operands";
  let description = [{
    Before: every array has a closed sharding (spmdc-propagate).

    Products of two operands replace each array.einsum, in the order and with the shardings of intermediate products
    that take the least time by the cost model, communication included (ContractionOrder.h). Of more operands than are
    looked at together those with the smallest product are multiplied first.

    After: the same, and there is no array.einsum.
    ```
    %0 = array.einsum %c, %s, %x labels [[0, 1], [2, 3], [1, 3, 4]] -> [0, 2, 4] : <f32[16@_, 512@_]>,
         <f32[16@_, 512@_]>, <f32[512@a, 512@_, 8@_]> -> <f32[16@_, 16@_, 8@_]>
    ```
    becomes
    ```
    %0 = array.dot_general %s, %x ... : ... -> <f32[16@_, 512@a, 8@_]>
    %1 = array.dot_general %c, %0 ... : ... -> <f32[16@_, 16@_, 8@_]>
    ```
  }];
  let options = [Option<"remarks", "remarks", "bool", "false", "Say of each einsum in which order it multiplies">];
  let dependentDialects = ["::spmdc::SpmdDialect", "::spmdc::ArrayDialect"];
}

def SplitOrders : Pass<"spmdc-split-orders", "mlir::ModuleOp"> {
  let summary = "Distributes sorts and top-k along sharded dimensions";
  let description = [{
    Before: every array has a closed sharding (spmdc-propagate).

    An array.argsort along a sharded dimension of which only the first elements are used (top_k) becomes a distributed
    top-k: each device finds the first elements of its shard, and the first of all are found among those, if that sends
    less than the array. The same holds if only the last elements are used (OrderEnds.h). The dimension may be one that
    a reshape merges of sharded ones; so may be that of an array.arg_reduce.

    Any other argsort along a sharded dimension becomes a sample sort (SampleSort.h), with a branch for data that are
    not spread over the shards, or a columnsort (ColumnSort.h), if the cost model predicts less time than for a gather
    of the dimension.

    After: the same.
    ```
    %0 = array.argsort %x dim 0 descending = true : <f32[4096@a]> -> <i32[4096@_]>
    %1 = array.slice %0 [0] to [8] step [1] : <i32[4096@_]> -> <i32[8@_]>
    ```
    with a=8 becomes an argsort of the f32[8@a, 512] that `x` is, of whose results f32[8@a, 8] are taken, and one of
    those 64 elements.
  }];
  let dependentDialects = ["::spmdc::SpmdDialect", "::spmdc::ArrayDialect"];
}

def SkipReshapes : Pass<"spmdc-skip-reshapes", "mlir::ModuleOp"> {
  let summary = "Moves operations in front of a reshape of sharded dimensions";
  let description = [{
    Before: every array has a closed sharding (spmdc-propagate).

    A reshape that merges dimensions of which a minor one is sharded sends elements between devices. Sums along the
    merged dimension, lookups (take, take_along), additions at indices (scatter_add, scatter_add_along) and reshapes
    back are computed in front of it, also if element-wise operations come between. Updates that are added to constants
    and then reshaped are added to constants of the final shape, if only that shape can be sharded.

    After: the same.
    ```
    %0 = array.reshape %x : <f32[64@_, 128@a]> -> <f32[8192@_]>
    %1 = array.take %0, %i dim 0 : <f32[8192@_]>, <i32[9@_]> -> <f32[9@_]>
    ```
    becomes a take from f32[8192@a], which has each device's elements one behind the other (MergedDim.h).
  }];
  let dependentDialects = ["::spmdc::SpmdDialect", "::spmdc::ArrayDialect"];
}

def AlignInteriors : Pass<"spmdc-align-interiors", "mlir::ModuleOp"> {
  let summary = "Computes an interior at the positions of the array that it is written to";
  let description = [{
    Before: every array has a closed sharding (spmdc-propagate).

    Element-wise operations on slices of arrays of one size may compute a range of such an array along a sharded
    dimension, which an array.dynamic_update_slice (at constant positions), an array.pad or an array.concatenate writes
    there. They are then run on the full array, with shifted arrays in place of the slices, and the range is selected.
    Devices exchange halos once, and no computed values. Only if the range is nearly the full array.

    After: the same.
    ```
    %0 = array.slice %u [0] to [1022] step [1] : <f32[1024@a]> -> <f32[1022@a]>
    %1 = array.slice %u [2] to [1024] step [1] : <f32[1024@a]> -> <f32[1022@a]>
    %2 = array.add %0, %1 : <f32[1022@a]>
    %3 = array.dynamic_update_slice %u, %2 at(%one) : ...
    ```
    becomes the sum of `%u` shifted by one element either way, where `%inside` holds:
    ```
    %3 = array.select %inside, %2, %u : <bool[1024@a]>, <f32[1024@a]>, <f32[1024@a]> -> <f32[1024@a]>
    ```
  }];
  let dependentDialects = ["::spmdc::SpmdDialect", "::spmdc::ArrayDialect"];
}

def JoinFirst : Pass<"spmdc-join-first", "mlir::ModuleOp"> {
  let summary = "Concatenates slices of an array before element-wise operations on them";
  let description = [{
    Before: every array has a closed sharding (spmdc-propagate).

    Where an array.concatenate along a sharded dimension has operands that element-wise operations compute from slices,
    the slices are concatenated first, those of one array as one move of it if possible; each operation is computed on
    the concatenated arrays, and selected in its range. Only where devices send less, or the same in fewer exchanges,
    and save more time than the additional computation takes.

    After: the same.
    ```
    %0 = array.slice %x [32] to [64] step [1] : <f32[64@a]> -> <f32[32@a]>
    %1 = array.negate %0 : <f32[32@a]>
    %2 = array.slice %x [0] to [32] step [1] : <f32[64@a]> -> <f32[32@a]>
    %3 = array.concatenate %1, %2 dim 0 : <f32[32@a]>, <f32[32@a]> -> <f32[64@a]>
    ```
    becomes, where `%first` holds for the first 32 elements,
    ```
    %3 = array.concatenate %0, %2 dim 0 : <f32[32@a]>, <f32[32@a]> -> <f32[64@a]>
    %4 = array.negate %3 : <f32[64@a]>
    %5 = array.select %first, %4, %3 : <bool[64@a]>, <f32[64@a]>, <f32[64@a]> -> <f32[64@a]>
    ```
  }];
  let dependentDialects = ["::spmdc::SpmdDialect", "::spmdc::ArrayDialect"];
}

def TurnDiagonals : Pass<"spmdc-turn-diagonals", "mlir::ModuleOp"> {
  let summary = "Takes diagonals along the dimension that is sharded";
  let description = [{
    Before: every array has a closed sharding (spmdc-propagate).

    Where an array.slice in steps takes a diagonal of a matrix that an array.reshape has made one dimension, and the
    columns are sharded and the rows are not, it is taken of the transposed matrix, without communication.

    After: the same.
    ```
    %0 = array.reshape %x : <f32[8@_, 8@a]> -> <f32[64@_]>
    %1 = array.slice %0 [0] to [64] step [9] : <f32[64@_]> -> <f32[8@a]>
    ```
    becomes
    ```
    %0 = array.transpose %x perm [1, 0] : <f32[8@_, 8@a]> -> <f32[8@a, 8@_]>
    %1 = array.reshape %0 : <f32[8@a, 8@_]> -> <f32[64@a]>
    %2 = array.slice %1 [0] to [64] step [9] : <f32[64@a]> -> <f32[8@a]>
    ```
  }];
  let dependentDialects = ["::spmdc::SpmdDialect", "::spmdc::ArrayDialect"];
}

def ChooseShardings : Pass<"spmdc-choose-shardings", "mlir::ModuleOp"> {
  let summary = "Chooses shardings of values without annotation by cost";
  let description = [{
    Before: the propagated program. After: the same, with other shardings of values that are not `spmd.annotated`
    (operations' results and carries of loops; never parameters and results), where the operations around them send less
    for it and take less time by the cost model. That attribute is gone.

    Propagation looks at one operation at a time. It replicates the gradient of a replicated parameter (one all_reduce),
    also if each device updates its own shard only. This pass shards the gradient like the update: a reduce_scatter,
    half of the bytes (ZeRO). Products in sequence change together, with all operations between.

    Devices hold no more of a value than after propagation, or no more than the largest shard of any value, if that is
    faster and sends no more. If iterations of a loop slice arrays along a sharded dimension, another dimension may be
    sharded, if that is faster by far.

    The search is local: for each operation that sends something, each strategy that would send less, carried through
    the operations around that follow without communication; a change is kept if all operations that touch a changed
    value together send less and take less time. What sends most comes first; the work is bounded. Another search
    carries changes far first, through contractions and reductions, too, along the dimensions that they share: an
    attention that is sharded by heads becomes sharded by rows of the batch, with its derivative. The better result is
    kept. Then an operand may be resharded for one operation beyond these limits, as the weight of each layer if rows
    become sharded over an axis of the weight.

    Then all shardings and all strategies are chosen together, by dynamic programming over the graph of
    operations and values (ShardingElimination.h), which is exact where its tables stay small. What that gives is
    partitioned on trial, as the best so far is, and kept if it sends less then.

    Where slices of a product are used, or products of concatenated arrays (SplitProducts.h), the search runs again for
    the program that multiplies the slices separately, which is kept if it is better and sends less:
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
    Option<"remarks", "remarks", "bool", "false", "Say of each change what it saves">,
    Option<"effort", "effort", "int64_t", "600",
           "The largest number of priced strategies in each of three searches of a function">,
  ];
}

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

def InsertReshards : Pass<"spmdc-insert-reshards", "mlir::ModuleOp"> {
  let summary = "Makes the shardings around each operation agree";
  let description = [{
    Before: every array has a closed sharding (spmdc-propagate); an operation's operands and result may disagree.

    For each operation the axes of its factors are chosen: the cheapest of what its operands and its result suggest,
    and, where that needs communication, of all other strategies, weighing bytes on the wire against computation that
    would be repeated on several devices. Operands with another sharding get a spmd.reshard in front (in front of a loop
    that does not define them, where one serves all iterations), or are rematerialized (Makers.h); a term to which an
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

def NarrowReductions : Pass<"spmdc-narrow-reductions", "mlir::ModuleOp"> {
  let summary = "Reduces only the used elements of partial sums";
  let description = [{
    Before: the shardings around each operation agree (spmdc-insert-reshards).

    A slice or lookup of a value that element-wise operations compute from reduced partial sums, and that has no other
    use, is moved in front of these operations and of the reduction (slice hoisting). Indices are resharded as the
    partial sums need them. Only where that takes less time by the cost model.

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

def DeferReductions : Pass<"spmdc-defer-reductions", "mlir::ModuleOp"> {
  let summary = "Adds partial sums before they are reduced";
  let description = [{
    Before: the shardings around each operation agree (spmdc-insert-reshards).

    Where partial sums are reduced and only then added, through operations that are linear, they are added first and
    reduced once; a loop's carry to which iterations add partial sums, or updates at indices, becomes one, and is
    reduced behind the loop. A branch may be part of the linear region: it yields partial sums, and reduces those that
    it uses otherwise. A replicated term (a bias, a loop's initial value) becomes a partial sum, which sends nothing.
    Where a slice or a sum along dimensions leaves fewer elements, these are reduced; over the axes of sharded
    dimensions, too, where the sum is along these. Only where it takes less time by the cost model.

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
           "A loop may carry partial sums of which a device holds more than of what they sum to">,
  ];
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

def RingContractions : Pass<"spmdc-ring-contractions", "mlir::ModuleOp"> {
  let summary = "Splits products so that the collectives of their operands or sums overlap (collective matmul)";
  let description = [{
    Before: one device's program; collectives are explicit.

    A product whose operand one all_gather brings, and a product whose partial sums one reduce_scatter adds up, with
    nothing but transposes in between, become as many products as the group has devices, each on one shard: while a
    device multiplies with a shard, the next comes from its neighbour (collective_permute). One direction of the ring,
    or half of the shards in each. The same bytes are sent. If the gathered array has other uses behind the product, it
    is also assembled from the shards; partial sums have none. Only where the cost model says that less time passes
    (RingCost.h); what would run under the collective as it is counts against it. By the default model nothing runs
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

def AddBeforeExchange : Pass<"spmdc-add-before-exchange", "mlir::ModuleOp"> {
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

def JoinCollectives : Pass<"spmdc-join-collectives", "mlir::ModuleOp"> {
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

def VerifyPartitioned : Pass<"spmdc-verify-partitioned", "mlir::ModuleOp"> {
  let summary = "Checks the exit of the partitioned stage";
  let description = [{
    Fails with the operation's place where a sharding, a spmd.reshard, a spmd.constraint or a spmd.sharding_group is
    left, or where a function argument or result lacks its `spmd.global`. Changes nothing.
  }];
}

#endif
