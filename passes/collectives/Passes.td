//===- Passes.td - collectives of the partitioned program ---*- tablegen -*-===//
#ifndef SPMDC_COLLECTIVES_PASSES
#define SPMDC_COLLECTIVES_PASSES

include "mlir/Pass/PassBase.td"

def AlignCollectives : Pass<"spmdc-align-collectives", "mlir::ModuleOp"> {
  let summary = "Lets all devices make the same calls where groups of them take different branches";
  let description = [{
    Before: in an spmd.manual region the condition around a collective may differ between groups of devices, though not
    within the collective's group (the front end sees to that). All changes of sharding are spmd.reshard: where a region
    is manual along some axes only, they and the operations for which the partitioner may insert collectives along the
    other axes count as collectives, too.

    The pass replaces such an array.if by the operations of both branches and an array.select for each result. Such an
    array.while runs on all devices until none of them iterates, and a device that has left it keeps its carries.
    Regions without a collective stay.

    After: all devices call every collective, in the same order.
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

    The pass handles sums of exchanged arrays that are shifted against each other and padded with zeros (the gradient of
    a convolution). Each device adds up the terms that it has, for its own shard and for halos in the shards of others.
    One exchange for each neighbour sends the halos, along one dimension after the other. This is done only if it sends
    fewer bytes in no more exchanges, or as many in fewer. The reason of each exchange says what is added up; its
    location is that of all exchanges before.

    After: the same values, but for the order in which floats are added.
    ```
    %1 = spmd.exchange %x over <a> from <f32[8@a]> to <f32[8@a]> moves [#spmd.move<shift = -1>] : <f32[4]> -> <f32[4]>
    %2 = spmd.exchange %y over <a> from <f32[8@a]> to <f32[8@a]> moves [#spmd.move<shift = -2>] : <f32[4]> -> <f32[4]>
    %3 = array.add %1, %2
    ```
    becomes the following, where device 0 contributes %x[3] + %y[2] to element 4 and %y[3] to element 5:
    ```
    %halo = ...
    %1 = spmd.exchange %halo over <a> from <f32[4@a]> to <f32[4@a]> moves [#spmd.move<shift = -2>] : <f32[2]> -> <f32[2]>
    ```
  }];
  let dependentDialects = ["::spmdc::SpmdDialect", "::spmdc::ArrayDialect"];
}

def SplitHalos : Pass<"spmdc-split-halos", "mlir::ModuleOp"> {
  let summary = "Receives the halos of windows alone, next to the own shard";
  let description = [{
    Before: one device's program; collectives are explicit.

    An spmd.exchange whose target shards are parts of the own shards with elements of the neighbours before and after
    them becomes one exchange for each halo, along one dimension after the other, and a concatenation, which kernels
    read in place. This is done where the copy of the own elements takes more time than the waits of the exchanges,
    by the cost model. Along a second dimension the edges of the concatenation are stored and sent.

    After: the same values; each device receives the same elements.
    ```
    %1 = spmd.exchange %x over <a> from <f32[8@a]> to <f32[12@a]>
             moves [#spmd.move<shift = -1, length = 6, step = 1, base = 8>] : <f32[4]> -> <f32[6]>
    ```
    becomes
    ```
    %2 = spmd.exchange %x over <a> from <f32[8@a]> to <f32[2@a]>
             moves [#spmd.move<shift = -1, length = 1, step = 1, base = 8>] : <f32[4]> -> <f32[1]>
    %3 = spmd.exchange %x over <a> from <f32[8@a]> to <f32[2@a]>
             moves [#spmd.move<shift = 4, length = 1, step = 1, base = 8>] : <f32[4]> -> <f32[1]>
    %1 = array.concatenate %2, %x, %3 dim 0 : ...
    ```
  }];
  let dependentDialects = ["::spmdc::SpmdDialect", "::spmdc::ArrayDialect"];
}

def FoldCollectives : Pass<"spmdc-fold-collectives", "mlir::ModuleOp"> {
  let summary = "Folds two collectives in sequence into one";
  let description = [{
    Before: one device's program; collectives are explicit.

    An all_reduce of an all_reduce of the same kind over other axes, without other uses, becomes one over both, if that
    takes less time by the cost model. So do two all_gathers or reduce_scatters along one dimension with even shards.
    The new collective has the reasons of both, and a fused location.

    A sum over several axes of which some are slow is split (ReshardPlanner.h), if that takes less time: a
    reduce_scatter over the fast axes, an all_reduce of the shard over the slow ones, an all_gather. Sums of f16 and
    bf16 are not split, because one all_reduce adds them in f32.

    At the end, collectives of one block that differ only in their reasons become one, with the reasons of all.

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

    The pass looks at the point that needs most memory (MemoryEstimate.h). Of the gathered arrays that are live but not
    used there, the one that frees most is gathered again before its next use. This is repeated until `free` bytes are
    saved or nothing more can be saved. The new gather has the location of the first; its reason says that it is a
    repetition. If there is no such array and the point is in a loop or a branch, a value that is gathered or computed
    element-wise before the loop or branch, for a use in it, is computed inside instead: in each iteration of a loop,
    and of nested loops in the outermost that suffices.

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

    A product of an all_gather's result, or a product whose result is the operand of a reduce_scatter, with nothing but
    transposes in between, becomes one product for each device of the group, each on one shard. While a device
    multiplies with a shard, the next one arrives from its neighbour (collective_permute). The shards move in one
    direction of the ring, or half of them in each. The same bytes are sent. If the gathered array has other uses after
    the product, it is also assembled from the shards. A product is split only if the cost model predicts less time
    (CollectiveMatmulCost.h), taking into account the products that already overlap with the unsplit collective. By the
    default model nothing overlaps with a transfer (`overlap` is 0), so nothing changes.

    The gathered dimension may be free, contracted or a batch dimension of the product. The pass does not split if
    shards are uneven (padding would be sent), if the dimension is contracted and the result is a float that must be the
    same on all devices of the group (each device adds in its own order), or if the two are in different blocks. The
    order of a sum depends on the position in the group, not on processes. f16 and bf16 are added in f32: partial sums
    that a reduce_scatter takes in 16 bits would be rounded at each step of a ring, so they are sent directly to the
    device that adds them up, in groups of up to 32.

    After: the same. The middle steps are a loop, so that the program does not grow with the number of devices (the
    pairs of a permute do); direct transfers are not a loop.
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

    all_reduces of one kind, element type and axes in a block, none of which needs another's result, become one call of
    up to 4 MiB, if the calls that it saves take more time than the copies into and out of the combined array (both by
    the cost model). So do all_gathers, reduce_scatters and all_to_alls with even shards (along any dimensions),
    collective_permutes of the same pairs, and collective_broadcasts from the same root. The combined collective runs
    where the first one did, or as soon as all operands are computed. Each element is reduced as before, so the results
    have the same bits.

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
