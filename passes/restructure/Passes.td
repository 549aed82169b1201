//===- Passes.td - rewrites after propagation --------------*- tablegen -*-===//
#ifndef SPMDC_RESTRUCTURE_PASSES
#define SPMDC_RESTRUCTURE_PASSES

include "mlir/Pass/PassBase.td"

def OrderContractions : Pass<"spmdc-order-contractions", "mlir::ModuleOp"> {
  let summary = "Decides the order in which an einsum multiplies its operands";
  let description = [{
    Before: every array has a closed sharding (spmdc-propagate).

    Products of two operands replace each array.einsum. Their order and the shardings of intermediate products take the
    least predicted time, communication included (ContractionOrder.h). If an einsum has more operands than the search
    compares, those with the smallest product are multiplied first.

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
  let options = [Option<"remarks", "remarks", "bool", "false", "Report the order in which each einsum multiplies">];
  let dependentDialects = ["::spmdc::SpmdDialect", "::spmdc::ArrayDialect"];
}

def NarrowProducts : Pass<"spmdc-narrow-products", "mlir::ModuleOp"> {
  let summary = "Multiplies operands in the types from which they were converted";
  let description = [{
    Before: every array has a closed sharding (spmdc-propagate).

    If both operands of an array.dot_general were converted from one narrower type, whose products the library sums in
    the type of the result without rounding in between (bf16 and f16 in f32; integers of 8 and 16 bits in 32), the
    product reads the values before the conversion. Transposes, reshapes, broadcasts, slices and reversals may come
    between.

    After: the same. Elements of integers are equal; sums of floats may have another order and the rounding of the
    library's products of 16-bit floats.
    ```
    %0 = array.convert %x : <bf16[8@a, 16@_]> -> <f32[8@a, 16@_]>
    %1 = array.convert %y : <bf16[16@_, 4@_]> -> <f32[16@_, 4@_]>
    %2 = array.dot_general %0, %1 contract [1] x [0] ... : ... -> <f32[8@a, 4@_]>
    ```
    becomes
    ```
    %2 = array.dot_general %x, %y contract [1] x [0] ... : <bf16[8@a, 16@_]>, <bf16[16@_, 4@_]> -> <f32[8@a, 4@_]>
    ```
  }];
  let dependentDialects = ["::spmdc::SpmdDialect", "::spmdc::ArrayDialect"];
}

def DistributeSorts : Pass<"spmdc-distribute-sorts", "mlir::ModuleOp"> {
  let summary = "Distributes sorts and top-k along sharded dimensions";
  let description = [{
    Before: every array has a closed sharding (spmdc-propagate).

    An array.argsort along a sharded dimension of which only the first elements are used (top_k) becomes a distributed
    top-k: each device finds the first elements of its shard, and the first of all are found among those, if that sends
    less than the array. The same holds if only the last elements are used (DistributedTopK.h). The dimension may be
    merged from sharded ones by a reshape; this also holds for an array.arg_reduce.

    Any other argsort along a sharded dimension becomes a sample sort (SampleSort.h), with a branch for data that are
    not spread over the shards, or a columnsort (ColumnSort.h), if the cost model predicts less time than for a gather
    of the dimension.

    After: the same.
    ```
    %0 = array.argsort %x dim 0 descending = true : <f32[4096@a]> -> <i32[4096@_]>
    %1 = array.slice %0 [0] to [8] step [1] : <i32[4096@_]> -> <i32[8@_]>
    ```
    with a=8 becomes an argsort of `x` as f32[8@a, 512], of whose results the first f32[8@a, 8] are taken, and an
    argsort of those 64 elements.
  }];
  let dependentDialects = ["::spmdc::SpmdDialect", "::spmdc::ArrayDialect"];
}

def TurnDiagonals : Pass<"spmdc-turn-diagonals", "mlir::ModuleOp"> {
  let summary = "Takes diagonals along the dimension that is sharded";
  let description = [{
    Before: every array has a closed sharding (spmdc-propagate).

    If a strided array.slice takes a diagonal of a matrix that an array.reshape has flattened, and the columns are
    sharded and the rows are not, the pass takes the diagonal of the transposed matrix, without communication.

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

def SkipReshapes : Pass<"spmdc-skip-reshapes", "mlir::ModuleOp"> {
  let summary = "Moves operations before a reshape of sharded dimensions";
  let description = [{
    Before: every array has a closed sharding (spmdc-propagate).

    A reshape that merges dimensions of which a minor one is sharded sends elements between devices. Sums along the
    merged dimension, lookups (take, take_along), additions at indices (scatter_add, scatter_add_along) and reshapes
    back are computed before it, also if element-wise operations come between. Updates that are added to constants and
    then reshaped are added to constants of the final shape, if only that shape can be sharded.

    After: the same.
    ```
    %0 = array.reshape %x : <f32[64@_, 128@a]> -> <f32[8192@_]>
    %1 = array.take %0, %i dim 0 : <f32[8192@_]>, <i32[9@_]> -> <f32[9@_]>
    ```
    becomes a take from f32[8192@a], in which each device's elements are contiguous (MergedDim.h).
  }];
  let dependentDialects = ["::spmdc::SpmdDialect", "::spmdc::ArrayDialect"];
}

def AlignInteriors : Pass<"spmdc-align-interiors", "mlir::ModuleOp"> {
  let summary = "Computes an interior at the positions of the array that it is written to";
  let description = [{
    Before: every array has a closed sharding (spmdc-propagate).

    Element-wise operations on slices of arrays of one size may compute a range of such an array along a sharded
    dimension, which an array.dynamic_update_slice (at constant positions), an array.pad or an array.concatenate writes
    there. They are then run on the full array, with shifted arrays instead of the slices, and the range is selected.
    Devices exchange halos once, and no computed values. Only if the range is nearly the full array.

    After: the same.
    ```
    %0 = array.slice %u [0] to [1022] step [1] : <f32[1024@a]> -> <f32[1022@a]>
    %1 = array.slice %u [2] to [1024] step [1] : <f32[1024@a]> -> <f32[1022@a]>
    %2 = array.add %0, %1 : <f32[1022@a]>
    %3 = array.dynamic_update_slice %u, %2 at(%one) : ...
    ```
    becomes the sum of `%u` shifted by one element either way, if `%inside` holds:
    ```
    %3 = array.select %inside, %2, %u : <bool[1024@a]>, <f32[1024@a]>, <f32[1024@a]> -> <f32[1024@a]>
    ```
  }];
  let dependentDialects = ["::spmdc::SpmdDialect", "::spmdc::ArrayDialect"];
}

def ConcatenateFirst : Pass<"spmdc-concatenate-first", "mlir::ModuleOp"> {
  let summary = "Concatenates slices of an array before element-wise operations on them";
  let description = [{
    Before: every array has a closed sharding (spmdc-propagate).

    If an array.concatenate along a sharded dimension has operands that element-wise operations compute from slices,
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
    becomes, if `%first` holds for the first 32 elements,
    ```
    %3 = array.concatenate %0, %2 dim 0 : <f32[32@a]>, <f32[32@a]> -> <f32[64@a]>
    %4 = array.negate %3 : <f32[64@a]>
    %5 = array.select %first, %4, %3 : <bool[64@a]>, <f32[64@a]>, <f32[64@a]> -> <f32[64@a]>
    ```
  }];
  let dependentDialects = ["::spmdc::SpmdDialect", "::spmdc::ArrayDialect"];
}

#endif
