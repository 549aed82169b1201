//===- Passes.td - from the propagated to the partitioned program ---*- tablegen -*-===//
#ifndef SPMDC_PARTITION_PASSES
#define SPMDC_PARTITION_PASSES

include "mlir/Pass/PassBase.td"

def OrderContractions : Pass<"spmdc-order-contractions", "mlir::ModuleOp"> {
  let summary = "Decides in which order an einsum multiplies its operands";
  let description = [{
    Before: every array has a closed sharding (spmdc-propagate).

    Products of two operands take the place of each array.einsum: in the order, and with intermediate products lying so,
    that multiplying and sending take the least time by the cost model (ContractionOrder.h). Of more operands than are
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
  let summary = "Finds orders along cut dimensions piece by piece";
  let description = [{
    Before: every array has a closed sharding (spmdc-propagate).

    Where an array.argsort runs along a dimension that is cut and only its first elements are used (top_k), the first
    of each piece are found where it lies, and the first of all among those, if that is less to send than the array. So
    are the last ones, where only these are used (OrderEnds.h). The dimension may be one that a reshape merges of others
    that are cut, and so may be that along which an extreme element is looked for (array.arg_reduce).

    Any other order along a cut dimension becomes a sort by samples (SampleSort.h), with a branch for data that are not
    spread over the pieces, or a columnsort (ColumnSort.h), if the cost model has that take less time than bringing the
    dimension together.

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
  let summary = "Looks at elements before they are reshaped";
  let description = [{
    Before: every array has a closed sharding (spmdc-propagate).

    A reshape that merges dimensions of which a minor one is cut sends elements from device to device. Sums along the
    merged dimension, what looks elements of it up (take, take_along) or adds to them (scatter_add, scatter_add_along),
    and what is reshaped back do without it, also if something is computed of it element by element first. What is added
    to constants and reshaped then is added to constants of the shape that it gets, if that is cut where it cannot be cut
    before.

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
  let summary = "Computes an interior in the places of the array that it is put into";
  let description = [{
    Before: every array has a closed sharding (spmdc-propagate).

    Where element-wise operations make a part of an array of slices of arrays of its size, along a dimension that is
    cut, and an array.dynamic_update_slice (at places that are known), an array.pad or an array.concatenate puts it
    there, they are run on all of the array, with these arrays shifted in place of their slices, and the part is
    selected. Devices exchange edges once, and not what they have computed a second time. Only where the part is nearly
    all of the array.

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
  let summary = "Joins slices of an array before anything is computed of them";
  let description = [{
    Before: every array has a closed sharding (spmdc-propagate).

    Where an array.concatenate along a sharded dimension joins what element-wise operations compute of slices, the
    slices are joined first, those of one array to one move of it if they are one, and what is computed of each part is
    computed of the joined arrays and selected where the part is. Only where devices send less, or the same in fewer
    exchanges, and save more time than they compute beside the parts.

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
    columns are sharded and the rows are not, it is taken of the transposed matrix. Each device has it then.

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
  let summary = "Lets values that nobody annotated lie where less has to be sent";
  let description = [{
    Before: the propagated program.
    After: the same, with other shardings of values that are not `spmd.annotated` (operations' results and carries of
    loops; never parameters and results), where the operations around them send less for it and take less time by the
    cost model. That attribute is gone.

    Propagation looks at one operation at a time. A gradient of which each device only updates its own part of a
    parameter lies whole, as the parameter does: one all_reduce. Here it comes to lie as the part does, and takes a
    reduce_scatter, half of the bytes (ZeRO). Products that follow one another are moved together, with all that lies
    between.

    Devices hold no more of a value than propagation gave them; or than of the largest piece of any, where that is
    faster and sends no more. Where iterations of a loop pick parts along a cut dimension, another one may be cut, if
    all is faster by far.

    The search is local: for each operation that sends something, each way to run it that would send less, carried
    through the operations around that follow without communication; a change is kept if all operations that touch a
    changed value together send less and take less time. What sends most comes first; the work is bounded. Another
    search carries changes far first, through contractions and reductions, too, along the dimensions that they share:
    an attention that is cut by heads comes to be cut by rows of the batch as a whole, with its derivative. The better
    end is kept. From there operands that devices may not hold as an operation needs them are brought there for that
    alone, as the weight of each layer is where rows come to be cut over an axis that it is cut over.

    Then all shardings and all ways to run operations are chosen at once, by dynamic programming over the graph of
    operations and values (ShardingElimination.h), which is exact where its tables stay small. What that gives is
    partitioned on trial, as the best so far is, and kept if it sends less then.

    Where parts of a product are used, or products are of parts (SplitProducts.h), all is searched again with these
    multiplied by themselves, which is kept if it is better in the end and sends less:
    ```
    %0 = array.dot_general %x, %w ... : <f32[8192@a, 64@_]>, <f32[64@_, 32@b]> -> <f32[8192@a, 32@b]>
    %1 = array.slice %0 [0, 0] to [8192, 16] step [1, 1] : <f32[8192@a, 32@b]> -> <f32[8192@a, 16@b]>
    ```
    becomes
    ```
    %0 = array.slice %w [0, 0] to [64, 16] step [1, 1] : <f32[64@_, 32@b]> -> <f32[64@_, 16@b]>
    %1 = array.dot_general %x, %0 ... : <f32[8192@a, 64@_]>, <f32[64@_, 16@b]> -> <f32[8192@a, 16@b]>
    ```
    So it is with parts of arrays in which elements are looked up (LookUpFirst.h): these are looked up in the array.
  }];
  let options = [
    Option<"remarks", "remarks", "bool", "false", "Say of each change what it saves">,
    Option<"effort", "effort", "int64_t", "600",
           "How many ways to run an operation are priced at most, in each of three searches of a function">,
  ];
}

def AlignCollectives : Pass<"spmdc-align-collectives", "mlir::ModuleOp"> {
  let summary = "Lets all devices make the same calls where groups of them go different ways";
  let description = [{
    Before: in an spmd.manual region the condition around a collective may differ between groups of devices, though not
    within the collective's group (the front end sees to that). All changes of sharding are spmd.reshard: where a region
    is manual along some axes only, they and what else will be inserted along the others are collectives, too.

    Such an array.if becomes both of its arms, and a selection; such an array.while runs on all devices until none of
    them is in it, and those that have left keep their carries. What has no collective in it stays.

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
    and, where that needs communication, of all other assignments, weighing bytes on the wire against computation that
    would be repeated on several devices. Operands that lie otherwise get a spmd.reshard in front (in front of a loop
    that they are not of, where one serves all iterations), or are made again of less (Makers.h); what an operation adds
    partial sums to becomes one; the result keeps its propagated sharding, through a spmd.reshard behind where the
    operation computes it otherwise. Partial sums show as unreduced axes; those of bf16 and f16 are f32, unless the
    module says otherwise (ir/spmd/ReducePrecision.h).

    What a loop's carry starts from and what its body yields take the carry's sharding, what the arms of a branch yield
    the result's.

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
  let summary = "Reduces of partial sums only what is used of them";
  let description = [{
    Before: the shardings around each operation agree (spmdc-insert-reshards).

    Where a slice, or what indices choose, is taken of what element-wise operations make of reduced partial sums, and
    nobody else uses that, it is taken of what these operations begin with: of partial sums before they are reduced.
    Indices are brought to where the partial sums need them. Only where that takes less time by the cost model.

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
    reduced behind the loop. A branch may lie between: its arms yield partial sums, and what an arm needs of them for
    something else it reduces itself. What is added to them and is whole (a bias, what a loop begins with) becomes a
    partial sum on the way, which sends nothing. Where a slice or a sum along dimensions leaves less of them, that is
    reduced; over the axes of cut dimensions, too, where the sum is along these. Only where it takes less time by the
    cost model.

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
  let summary = "Warns of arrays that are cut and are gathered whole";
  let description = [{
    Before: all changes of sharding are spmd.reshard.

    A warning at the place of each spmd.reshard from an array that is cut to one that lies whole on every device, with
    the bytes and the reason, unless a person asked for it (what is gathered, or values as large that are computed of
    it, are annotated to lie whole) or it is small. What a shard_map gathers a person wrote. Changes nothing.
  }];
  let options = [
    Option<"minBytes", "min-bytes", "int64_t", "1 << 20", "Arrays of fewer bytes are gathered silently">,
  ];
}

def Partition : Pass<"spmdc-partition", "mlir::ModuleOp"> {
  let summary = "Turns the global program into one device's program";
  let description = [{
    Before: the shardings around each operation agree (spmdc-insert-reshards).

    Every array becomes its padded local piece; every spmd.reshard the cheapest sequence of collectives and local
    slices, or, of what is read at one run-time index of a sharded dimension, a broadcast from its owner (OwnerRead.h);
    a reduction over an uneven dimension has its operands' padding masked with what does not change the result. Sums of
    bf16 and f16 that a user adds up over devices are widened with them (WidenSums.h).
    Function arguments and results keep their global type in `spmd.global`, printed values in `globals`. Loops and
    branches stay, around local blocks.

    After: no array has a sharding, no spmd.reshard is left; collectives are explicit, named by axes, with the reason
    in `why`.
  }];
  let dependentDialects = ["::spmdc::SpmdDialect", "::spmdc::ArrayDialect"];
}

def RingContractions : Pass<"spmdc-ring-contractions", "mlir::ModuleOp"> {
  let summary = "Runs products piece by piece while their operands or sums go around a ring";
  let description = [{
    Before: one device's program; collectives are explicit.

    A product whose operand one all_gather brings, and a product whose partial sums one reduce_scatter adds up, with
    nothing but transposes in between, become as many products as the group has devices, each on one piece: while a
    device multiplies with a piece, the next comes from its neighbour (collective_permute). One way around the ring, or
    half of the pieces each way. The same bytes are sent. Where what is gathered has other uses behind the product, its
    pieces are also put together for these; partial sums have none. Only where the cost model says that less
    time passes (RingCost.h); what would run under the collective as it is counts against it. By the default model
    nothing runs under a transfer (`overlap` is 0), so nothing changes.

    The gathered dimension may be free, contracted or a batch of the product. Not where pieces are uneven (padding would
    go around), where an operand is contracted and the result is the same on all devices of the group (each adds in an
    order of its own; integers may), nor across the borders of loops and branches. Sums have one order for each
    position in the group, whatever the processes. f16 and bf16 are added in f32: partial sums that a reduce_scatter
    takes in 16 bits would be rounded at each step of a ring, and go straight to the device that adds them up, in groups
    of up to 32.

    After: the same. The middle of a ring is a loop, so that the program does not grow with the number of devices (the
    pairs of a permute do); what goes straight is no loop.
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
    (both by the cost model), up to 4 MiB; so are all_gathers, reduce_scatters and all_to_alls whose pieces have one
    size, along whatever dimensions, collective_permutes of the same pairs, and collective_broadcasts from the same root.
    The one runs where the first of them did, or as soon as all operands are there. Each element is reduced as before, so
    the results have the same bits.

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

    What a checkpoint computes again has been kept apart from the forward pass until here; now the barriers are values
    like their operands, and kernels are formed across them.

    After: no array.optimization_barrier is left.
    `%1 = array.optimization_barrier %0 : <f32[8]>` goes; its users use `%0`.
  }];
}

def AddBeforeExchange : Pass<"spmdc-add-before-exchange", "mlir::ModuleOp"> {
  let summary = "Adds up what goes to one place before it is sent";
  let description = [{
    Before: one device's program; collectives are explicit.

    A sum of exchanged arrays that are shifted against each other, with zeros where they are not (the gradient of a
    convolution), is added up by each device as far as it has what is added: for its own piece, and for edges of the
    pieces of others. One exchange for each neighbour brings the edges there, along one dimension after the other. Only
    where fewer bytes are sent, and in no more exchanges. The reason of each says what is added up, its location is that
    of all exchanges before.

    After: the same values, but for the order in which floats are added.
    ```
    %1 = spmd.exchange %x over <a> from <f32[8@a]> to <f32[8@a]> shifted [-1] : <f32[4]> -> <f32[4]>
    %2 = spmd.exchange %y over <a> from <f32[8@a]> to <f32[8@a]> shifted [-2] : <f32[4]> -> <f32[4]>
    %3 = array.add %1, %2
    ```
    becomes: what device 0 has for places 4 and 5 is %x[3] + %y[2] and %y[3]
    ```
    %edge = ...
    %1 = spmd.exchange %edge over <a> from <f32[4@a]> to <f32[4@a]> shifted [-2] : <f32[2]> -> <f32[2]>
    ```
  }];
  let dependentDialects = ["::spmdc::SpmdDialect", "::spmdc::ArrayDialect"];
}

def JoinCollectives : Pass<"spmdc-join-collectives", "mlir::ModuleOp"> {
  let summary = "Makes one collective of two that follow one another";
  let description = [{
    Before: one device's program; collectives are explicit.

    An all_reduce of an all_reduce of the same kind over other axes, used by nothing else, becomes one over both, where
    that takes less time by the cost model; so do all_gathers, and reduce_scatters, along one dimension that comes out
    even. The reason of the one is those of both, its location is fused.

    A sum over several axes of which some are slow is made by parts (ReshardPlanner.h), if that takes less time: a
    reduce_scatter over the fast axes, an all_reduce of the part over the slow ones, an all_gather. Not of f16 and bf16,
    which one all_reduce adds in f32.

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
  let summary = "Gathers again what is not worth its memory";
  let description = [{
    Before: one device's program, after the last elimination of common subexpressions.

    Where `free` asks for memory: at the point that needs most of it (MemoryEstimate.h), the gathered array that is not
    used there and frees most is not kept until its next use but gathered again, until `free` bytes are saved or nothing
    is left to be saved. Each such gather is one of the program's, with its place; its reason says that it is a
    repetition. Where there is none of these and most is needed in a loop or a branch, what was made before that for
    another part of it, gathered or element by element, is made there, in each iteration of a loop; of loops within one
    another in the outermost that suffices.

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
  let summary = "Checks the exit of the partition leg";
  let description = [{
    Fails with the operation's place where a sharding, a spmd.reshard, a spmd.constraint or a spmd.sharding_group is
    left, or where a function argument or result lacks its `spmd.global`. Changes nothing.
  }];
}

#endif
