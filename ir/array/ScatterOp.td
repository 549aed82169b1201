//===- ScatterOp.td - a scatter that is no sum ----------------*- tablegen -*-===//
//
// Created by the importer of StableHLO; the language has no name for it, so it has no derivative. It has a file of its
// own, which few other files include.
//
//===----------------------------------------------------------------------===//

#ifndef SPMDC_SCATTER_OP
#define SPMDC_SCATTER_OP

include "ir/array/ScatterEnums.td"
include "ir/array/ArrayOps.td"

def Array_ScatterOp : Array_Op<"scatter", [DeclareOpInterfaceMethods<EvaluateOpInterface>,
    DeclareOpInterfaceMethods<ShardingRuleOpInterface, ["createLocal", "getPaddingValue", "getReductionKind"]>]> {
  let summary = "The operand with updates combined with the slices that indices name";
  let description = [{
    As `scatter_add`, but `replace` writes updates, and the other kinds combine each element with its updates, in
    row-major order of the indices (bf16 and f16 in f32, rounded once). So the last of several updates stays. With
    `along`, updates have the shape of the indices, as those of `scatter_add_along`. `unique`: no two indices inside are
    equal. Runs in place if no later operation reads the operand.
    `array.scatter max %x, %i, %u dim 1 : <f32[8, 6]>, <i32[5]>, <f32[8, 5]> -> <f32[8, 6]>`
  }];
  let arguments = (ins Spmd_ArrayType:$operand, Spmd_ArrayType:$indices, Spmd_ArrayType:$updates,
    Array_ScatterKind:$kind, I64Attr:$dim, UnitAttr:$along, UnitAttr:$unique);
  let assemblyFormat = [{
    $kind $operand `,` $indices `,` $updates `dim` $dim (`along` $along^)? (`unique` $unique^)? attr-dict `:`
    type($operand) `,` type($indices) `,` type($updates) `->` type($result)
  }];
  let extraClassDeclaration = "::std::optional<unsigned> getUpdateOperandNumber() { return 2; }";
  let hasVerifier = 1;
}

#endif
