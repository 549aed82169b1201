//===- SdyOps.td - Shardy's meshes, shardings and regions -----*- tablegen -*-===//
//
// The parts of Shardy's dialect that JAX exports. A sharding is the spmd dialect's own, with the name of its mesh.
//
//===----------------------------------------------------------------------===//

#ifndef SPMDC_SDY_OPS
#define SPMDC_SDY_OPS

include "ir/spmd/SpmdBase.td"
include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/OpBase.td"
include "mlir/IR/SymbolInterfaces.td"

def Sdy_Dialect : Dialect {
  let name = "sdy";
  let cppNamespace = "::spmdc::sdy";
  let summary = "Meshes and shardings, as JAX exports them";
  let useDefaultAttributePrinterParser = 1;
}

class Sdy_Attr<string cppName, string attrMnemonic> : AttrDef<Sdy_Dialect, cppName> {
  let mnemonic = attrMnemonic;
  let hasCustomAssemblyFormat = 1;
}

def Sdy_MeshAttr : Sdy_Attr<"Mesh", "mesh"> {
  let summary = "Axes with their sizes, major to minor: `<[\"a\"=4, \"b\"=2]>`";
  let parameters = (ins ArrayRefParameter<"::mlir::StringAttr">:$axes, ArrayRefParameter<"int64_t">:$sizes,
                        ArrayRefParameter<"int64_t">:$deviceIds);
}

def Sdy_ShardingAttr : Sdy_Attr<"TensorSharding", "sharding"> {
  let summary = "A sharding: `<@mesh, [{\"a\"}, {?}], replicated={\"b\"}>`";
  let parameters = (ins StringRefParameter<>:$mesh, "::spmdc::ShardingAttr":$sharding,
                        ArrayRefParameter<"::spmdc::AxisRefAttr">:$replicated);
}

def Sdy_ShardingsAttr : Sdy_Attr<"TensorShardings", "sharding_per_value"> {
  let summary = "One sharding for each value: `<[<@mesh, [{\"a\"}]>]>`";
  let parameters = (ins ArrayRefParameter<"TensorShardingAttr">:$shardings);
}

def Sdy_AxesAttr : Sdy_Attr<"ManualAxes", "manual_axes"> {
  let summary = "Names of axes: `{\"a\", \"b\"}`";
  let parameters = (ins ArrayRefParameter<"::mlir::StringAttr">:$axes);
}

def Sdy_OpShardingRuleAttr : Sdy_Attr<"OpShardingRule", "op_sharding_rule"> {
  let summary = "How a custom call may be sharded: `<([i, j])->([i, k]) {i=2, j=4, k=4}, custom>`";
  let description = "Read and dropped: a call that has a translation is sharded as its array operations are.";
}

class Sdy_Op<string mnemonic, list<Trait> traits = []> : Op<Sdy_Dialect, mnemonic, traits>;

def Sdy_MeshOp : Sdy_Op<"mesh", [Symbol]> {
  let arguments = (ins SymbolNameAttr:$sym_name, Sdy_MeshAttr:$mesh);
  let assemblyFormat = "$sym_name `=` custom<Stripped>($mesh) attr-dict";
}

class Sdy_ShardingOp<string mnemonic> : Sdy_Op<mnemonic> {
  let arguments = (ins AnyRankedTensor:$input, Sdy_ShardingAttr:$sharding);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = "$input custom<Stripped>($sharding) attr-dict `:` custom<OneType>(type($input), type($result))";
}

def Sdy_ShardingConstraintOp : Sdy_ShardingOp<"sharding_constraint">;
def Sdy_ReshardOp : Sdy_ShardingOp<"reshard">;

def Sdy_ShardingGroupOp : Sdy_Op<"sharding_group"> {
  let arguments = (ins AnyRankedTensor:$input, I64Attr:$group_id);
  let assemblyFormat = "$input `group_id` `=` $group_id attr-dict `:` type($input)";
}

def Sdy_PropagationBarrierOp : Sdy_Op<"propagation_barrier"> {
  let arguments = (ins AnyRankedTensor:$input, OptionalAttr<AnyAttr>:$allowed_direction);
  let results = (outs AnyRankedTensor:$result);
}

def Sdy_ReturnOp : Sdy_Op<"return", [Terminator]> {
  let arguments = (ins Variadic<AnyRankedTensor>:$values);
  let assemblyFormat = "attr-dict ($values^ `:` type($values))?";
}

def Sdy_ManualComputationOp : Sdy_Op<"manual_computation"> {
  let summary = "A region for one device along some axes (shard_map)";
  let arguments = (ins Variadic<AnyRankedTensor>:$operands, Sdy_ShardingsAttr:$in_shardings,
                       Sdy_ShardingsAttr:$out_shardings, Sdy_AxesAttr:$manual_axes);
  let results = (outs Variadic<AnyRankedTensor>:$outputs);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = [{
    `(` $operands `)` `in_shardings` `=` custom<Stripped>($in_shardings) `out_shardings` `=`
    custom<Stripped>($out_shardings) `manual_axes` `=` custom<Stripped>($manual_axes) custom<Body>($body) attr-dict `:`
    functional-type($operands, $outputs)
  }];
}

#endif
