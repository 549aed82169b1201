//===- SpmdOps.td - constraints, resharding, collectives ------*- tablegen -*-===//

#ifndef SPMDC_SPMD_OPS
#define SPMDC_SPMD_OPS

include "ir/interfaces/OpInterfaces.td"
include "ir/spmd/SpmdBase.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

class Spmd_Op<string mnemonic, list<Trait> traits = []> : Op<Spmd_Dialect, mnemonic, traits>;

//===- Global view --------------------------------------------------------===//

def Spmd_ConstraintOp : Spmd_Op<"constraint", [Pure, DeclareOpInterfaceMethods<ShardingRuleOpInterface>,
    DeclareOpInterfaceMethods<DifferentiableOpInterface>]> {
  let summary = "An annotation of a value's sharding";
  let description = [{
    The same value, whose sharding is the result type's. Closed dimensions are obeyed exactly, open ones may be sharded
    further by propagation. Comes from `let h: f32[B@a] = e`, `shard(e, P(a))`, annotated parameters and results.
    `spmd.constraint %x : <f32[8, 4]> -> <f32[8@a, 4]>`

    One that is `derived` follows from the annotation of another value (a gradient gets the sharding of its
    parameter): propagation obeys it, but the final sharding may differ.
  }];
  let arguments = (ins Spmd_ArrayType:$operand, UnitAttr:$derived);
  let results = (outs Spmd_ArrayType:$result);
  let assemblyFormat = "$operand (`derived` $derived^)? attr-dict `:` type($operand) `->` type($result)";
  let hasVerifier = 1;
}

def Spmd_ReshardOp : Spmd_Op<"reshard", [Pure, DeclareOpInterfaceMethods<ShardingRuleOpInterface>]> {
  let summary = "A change of sharding";
  let description = [{
    The same value under another sharding; lives between propagation and the insertion of collectives, which turns it
    into the cheapest sequence. An unreduced operand is reduced if the result is not unreduced. Partial sums of a 16-bit
    float may be f32 (ReducePrecision.h): the complete sum is rounded. `spmd.reshard %x : <f32[8@a, 4@_]> ->
    <f32[8@_, 4@a]>`
  }];
  let arguments = (ins Spmd_ArrayType:$operand, OptionalAttr<StrAttr>:$why);
  let results = (outs Spmd_ArrayType:$result);
  let assemblyFormat = "$operand attr-dict `:` type($operand) `->` type($result)";
  let hasVerifier = 1;
}

def Spmd_ShardingGroupOp : Spmd_Op<"sharding_group"> {
  let summary = "Values that are sharded alike (`like(x, y)`)";
  let arguments = (ins Spmd_ArrayType:$operand, I64Attr:$group);
  let assemblyFormat = "$operand `group` $group attr-dict `:` type($operand)";
}

//===- Manual regions -----------------------------------------------------===//

def Spmd_ManualOp : Spmd_Op<"manual", [IsolatedFromAbove, SingleBlock, RecursiveMemoryEffects]> {
  let summary = "A region of the program for one device (`shard_map`)";
  let description = [{
    The body sees each operand's shard on its own device and yields its shards of the results; in it shapes are local
    and collectives are explicit. The shardings of operands and results are those of their types: closed, every
    axis sharding evenly. A result's sharding leaves out an axis only where the body's value does not vary over it
    (VaryingAxes.h).
    ```
    %r = spmd.manual(%x) {
    ^bb0(%shard: !spmd.array<f32[2, 4]>):
      %sum = spmd.all_reduce sum %shard over <a> : <f32[2, 4]> -> <f32[2, 4]>
      spmd.yield %sum : !spmd.array<f32[2, 4]>
    } : (!spmd.array<f32[8@a, 4@_]>) -> !spmd.array<f32[2@_, 4@_]>
    ```
    With `over`, the body is one device's along these axes only (`axis_names`), and global along the others: there its
    shapes are global, propagation gives its arrays shardings, and the partitioner inserts collectives. In each
    dimension of an operand or result the manual axes come first and shard evenly; the others shard the local shape.
    ```
    %r = spmd.manual(%x) over <a> {
    ^bb0(%shard: !spmd.array<f32[2@b, 4]>):
      ...
    } : (!spmd.array<f32[8@"(a, b)", 4]>) -> !spmd.array<f32[2, 4]>
    ```
    The body may contain further manual regions, `over` other axes. In such a region its own axes and those of the
    regions around it are manual.
  }];
  let arguments = (ins Variadic<Spmd_ArrayType>:$inputs, OptionalAttr<Spmd_AxesAttr>:$manual);
  let results = (outs Variadic<Spmd_ArrayType>:$outputs);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = [{
    `(` $inputs `)` (`over` $manual^)? $body attr-dict `:` functional-type($inputs, $outputs)
  }];
  let hasVerifier = 1;
  let hasRegionVerifier = 1;
  let extraClassDeclaration = [{
    ::mlir::Block &getBlock() { return getBody().front(); }

    /// True if this region or one around it is manual along this axis.
    bool isManual(::llvm::StringRef axis);
    /// The axes along which this region is manual, but not the region around it. Arrays around it may be sharded over
    /// them, arrays in it are not.
    ::llvm::SmallVector<AxisRefAttr> getOwnAxes();
    /// True if there is an axis along which it is not manual.
    bool hasAutomaticAxes();
    /// The mesh of the body: without the automatic axes.
    MeshAttr getManualMesh();
    /// The type of an operand or result with only its manual axes.
    ArrayType getManualPart(ArrayType type);
    /// The type of an operand or result in the body: the shard along the manual axes, with the automatic axes
    /// unchanged; without a sharding if there are none.
    ArrayType getLocalType(ArrayType type);
    /// The type of an operand or result with the automatic axes of `piece`, the sharding in the body.
    ArrayType withLocalSharding(ArrayType type, ShardingAttr piece);
  }];
}

def Spmd_ManualYieldOp : Spmd_Op<"yield", [Pure, Terminator, HasParent<"ManualOp">]> {
  let summary = "The results of a manual region, one device's shards";
  let arguments = (ins Variadic<Spmd_ArrayType>:$values);
  let assemblyFormat = "attr-dict ($values^ `:` type($values))?";
}

//===- Per device ---------------------------------------------------------===//

/// Operations on per-device arrays have sharding rules for the automatic axes of a manual region: along these axes the
/// arrays are global.
defvar AutomaticAxesRule = DeclareOpInterfaceMethods<ShardingRuleOpInterface>;

class Spmd_CollectiveOp<string mnemonic, list<Trait> traits = []> : Spmd_Op<mnemonic, traits # [Pure,
    DeclareOpInterfaceMethods<CollectiveOpInterface>]> {
  let results = (outs Spmd_ArrayType:$result);
  let hasVerifier = 1;
}

def Spmd_AllReduceOp : Spmd_CollectiveOp<"all_reduce", [AutomaticAxesRule, withLinearOperands,
    DeclareOpInterfaceMethods<DifferentiableOpInterface>]> {
  let summary = "Combines the operands of a group; every device gets the result";
  let description = [{
    `spmd.all_reduce sum %x over <b> : <f32[1024, 4096]>`. The tree of additions is balanced over group positions.
  }];
  let arguments = (ins Spmd_ArrayType:$operand, Spmd_ReductionKind:$kind, Spmd_AxesAttr:$axes, OptionalAttr<StrAttr>:$why);
  let assemblyFormat = "$kind $operand `over` $axes attr-dict `:` type($operand) `->` type($result)";
}

def Spmd_AllGatherOp : Spmd_CollectiveOp<"all_gather", [AutomaticAxesRule, LinearOpInterface,
    DeclareOpInterfaceMethods<DifferentiableOpInterface>]> {
  let summary = "Concatenates the shards of a group along a dimension";
  let description = [{
    Shards are concatenated by nested ceilings over the axes (runtime/sharding/Sharding.h: over (a, b), the size is
    divided by |a| and rounded up, then by |b| and rounded up), and elements past the result's size are dropped.
    `spmd.all_gather %x dim 0 over <a> : <f32[2, 4]> -> <f32[8, 4]>`
  }];
  let arguments = (ins Spmd_ArrayType:$operand, I64Attr:$dim, Spmd_AxesAttr:$axes, OptionalAttr<StrAttr>:$why);
  let assemblyFormat = "$operand `dim` $dim `over` $axes attr-dict `:` type($operand) `->` type($result)";
}

def Spmd_AllSliceOp : Spmd_CollectiveOp<"all_slice", [AutomaticAxesRule, LinearOpInterface,
    DeclareOpInterfaceMethods<DifferentiableOpInterface>]> {
  let summary = "Each device keeps its own shard: no communication";
  let description = [{
    The shard at the device's coordinates over the axes, by nested ceilings; past the end of the operand it is padding.
    `spmd.all_slice %x dim 0 over <a> : <f32[8, 4]> -> <f32[2, 4]>`
  }];
  let arguments = (ins Spmd_ArrayType:$operand, I64Attr:$dim, Spmd_AxesAttr:$axes);
  let assemblyFormat = "$operand `dim` $dim `over` $axes attr-dict `:` type($operand) `->` type($result)";
}

def Spmd_ReduceScatterOp : Spmd_CollectiveOp<"reduce_scatter", [AutomaticAxesRule, withLinearOperands,
    DeclareOpInterfaceMethods<DifferentiableOpInterface>]> {
  let summary = "Combines the operands of a group; each device keeps its own shard";
  let arguments = (ins Spmd_ArrayType:$operand, Spmd_ReductionKind:$kind, I64Attr:$dim, Spmd_AxesAttr:$axes,
                       OptionalAttr<StrAttr>:$why);
  let assemblyFormat = "$kind $operand `dim` $dim `over` $axes attr-dict `:` type($operand) `->` type($result)";
}

def Spmd_AllToAllOp : Spmd_CollectiveOp<"all_to_all", [AutomaticAxesRule, LinearOpInterface,
    DeclareOpInterfaceMethods<DifferentiableOpInterface>]> {
  let summary = "Splits along one dimension, concatenates along another";
  let description = [{
    Device i of the group sends its j-th block along `split` to device j, which concatenates the received blocks along
    `concat`.
  }];
  let arguments = (ins Spmd_ArrayType:$operand, I64Attr:$split, I64Attr:$concat, Spmd_AxesAttr:$axes,
                       OptionalAttr<StrAttr>:$why);
  let assemblyFormat = [{
    $operand `split` $split `concat` $concat `over` $axes attr-dict `:` type($operand) `->` type($result)
  }];
}

def Spmd_CollectivePermuteOp : Spmd_CollectiveOp<"collective_permute", [AutomaticAxesRule, LinearOpInterface,
    DeclareOpInterfaceMethods<DifferentiableOpInterface>]> {
  let summary = "Sends each operand to one other device of the group";
  let description = "`pairs` is [source, target, source, target, ...]; a device that is no target receives zeros.";
  let arguments = (ins Spmd_ArrayType:$operand, DenseI64ArrayAttr:$pairs, Spmd_AxesAttr:$axes,
                       OptionalAttr<StrAttr>:$why);
  let assemblyFormat = "$operand `pairs` $pairs `over` $axes attr-dict `:` type($operand) `->` type($result)";
}

def Spmd_ExchangeOp : Spmd_CollectiveOp<"exchange"> {
  let summary = "A general reshard in one step, with an optional shift";
  let description = [{
    Each device sends each byte at most once, directly to the device that needs it. `global` is the source's type with
    its sharding, `target` the same array under the new one; operand and result are their shards.

    If the target has another shape, it is the source reshaped: the same elements, in the same row-major order.

    With `moves`, one for each dimension, the target is another array, of any sizes: its element i is the source's element
    shift + i * stride (negative strides run backwards), and zero if the source has no such element, or i is outside of
    `begin` up to `end`. It implements slices, pads and concatenations along sharded dimensions, in which only neighbours
    exchange data.

    If a move has a `length`, each device's shard of the target is a window of that many elements, and windows may
    overlap. Windows follow the shards of a result dimension of `base` elements that is sharded over the same axes: if
    shard w of that dimension begins at element b, element j of window w is the source's element shift + b * step + j *
    stride. This is a halo exchange for a convolution with a result of `base` rows in strides of `step`; each row is
    sent at most once to a device.

    A move with a `block` is of a source dimension that is sharded in full blocks of that many elements: one long
    dimension that holds several rows for each device.

    A move that `wraps` goes around: the source's last element is followed by its first, as in a roll or a periodic
    halo.

    A move with a `dilation` n > 1 has the source's elements n positions apart, with zeros between: the index above is
    divided by n, and elements with a remainder are zero. This is the gradient of a strided slice.
  }];
  let arguments = (ins Spmd_ArrayType:$operand, Spmd_AxesAttr:$axes, TypeAttrOf<Spmd_ArrayType>:$global,
                       TypeAttrOf<Spmd_ArrayType>:$target,
                       OptionalAttr<TypedArrayAttrBase<Spmd_DimMoveAttr, "a move of each dimension">>:$dim_moves,
                       OptionalAttr<StrAttr>:$why);
  let assemblyFormat = [{
    $operand `over` $axes `from` $global `to` $target (`moves` $dim_moves^)? attr-dict `:` type($operand) `->`
    type($result)
  }];
  let extraClassDeclaration = [{
    /// One per dimension; empty for a change of sharding alone.
    std::vector<::spmd::DimMove> getMoves();
  }];
}

class Spmd_CoordinateOp<string mnemonic> : Spmd_Op<mnemonic, [Pure]> {
  let arguments = (ins I64Attr:$size, Spmd_AxesAttr:$axes);
  let results = (outs Spmd_ArrayType:$result);
  let assemblyFormat = "$size `over` $axes attr-dict `:` type($result)";
  let hasVerifier = 1;
}

def Spmd_ShardStartOp : Spmd_CoordinateOp<"shard_start"> {
  let summary = "First element (i32 or i64) of this device's shard of a dimension of `size` elements";
}

def Spmd_ShardSizeOp : Spmd_CoordinateOp<"shard_size"> {
  let summary = "Number (i32 or i64) of elements of this device's shard of a dimension, without padding";
}

def Spmd_AxisIndexOp : Spmd_Op<"axis_index", [Pure, AutomaticAxesRule]> {
  let summary = "This device's position (i32) over the axes, major to minor";
  let arguments = (ins Spmd_AxesAttr:$axes);
  let results = (outs Spmd_ArrayType:$result);
  let assemblyFormat = "$axes attr-dict `:` type($result)";
  let hasVerifier = 1;
}

#endif
