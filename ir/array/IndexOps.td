//===- IndexOps.td - run-time indices, sorts, random bits --*- tablegen -*-===//
//
// Indices are i32 or i64; along a dimension of more than 2^31 elements they are i64. Positions that the compiler
// computes are i64 beyond 2^30 elements, because arithmetic on them needs the room (Positions.h). Operations that read
// clamp them to the array, operations that add drop those outside. The front end composes the language's rules for
// other indices (negative ones, a fill value) around them.
//
//===----------------------------------------------------------------------===//

#ifndef SPMDC_INDEX_OPS
#define SPMDC_INDEX_OPS

/// For operations with indices: a sharding rule with a createLocal of its own, because indices refer to global sizes
/// and positions.
defvar withCreateLocal = DeclareOpInterfaceMethods<ShardingRuleOpInterface, ["createLocal"]>;

def Array_DynamicSliceOp : Array_Op<"dynamic_slice", [LinearOpInterface, DeclareOpInterfaceMethods<EvaluateOpInterface>,
    DeclareOpInterfaceMethods<DifferentiableOpInterface>, withCreateLocal]> {
  let summary = "A window of static size that begins at run-time positions";
  let description = [{
    One start (i32[] or i64[]) for each dimension, clamped so that the window is in range. `array.dynamic_slice %x
    at(%i, %j) sizes [1, 6] : (!spmd.array<f32[8, 6]>, ...) -> !spmd.array<f32[1, 6]>`
  }];
  let arguments = (ins Spmd_ArrayType:$operand, Variadic<Spmd_ArrayType>:$starts, DenseI64ArrayAttr:$sizes);
  let builders = [OpBuilder<(ins "::mlir::Value":$operand, "::mlir::ValueRange":$starts,
                                 "::llvm::ArrayRef<int64_t>":$sizes)>];
  let assemblyFormat = [{
    $operand `at` `(` $starts `)` `sizes` $sizes attr-dict `:` functional-type(operands, $result)
  }];
  let extraClassDeclaration = "bool readsPartOfFirstOperand() { return true; }";
  let hasVerifier = 1;
}

def Array_DynamicUpdateSliceOp : Array_Op<"dynamic_update_slice", [withLinearOperands,
    DeclareOpInterfaceMethods<EvaluateOpInterface>,
    DeclareOpInterfaceMethods<DifferentiableOpInterface>, DeclareOpInterfaceMethods<ShardingRuleOpInterface, ["createLocal", "getMoves"]>]> {
  let summary = "The operand with a window, which begins at run-time positions, replaced";
  let description = [{
    One start (i32[] or i64[]) for each dimension, clamped so that the window is in range. Runs in place if no later
    operation reads the operand.
  }];
  let arguments = (ins Spmd_ArrayType:$operand, Spmd_ArrayType:$update, Variadic<Spmd_ArrayType>:$starts);
  let builders = [OpBuilder<(ins "::mlir::Value":$operand, "::mlir::Value":$update, "::mlir::ValueRange":$starts),
                            [{ build($_builder, $_state, operand.getType(), operand, update, starts); }]>];
  let assemblyFormat = [{
    $operand `,` $update `at` `(` $starts `)` attr-dict `:` functional-type(operands, $result)
  }];
  let extraClassDeclaration = "::std::optional<unsigned> getUpdateOperandNumber() { return 1; }";
  let hasVerifier = 1;
}

def Array_TakeOp : Array_Op<"take", [DeclareOpInterfaceMethods<EvaluateOpInterface>,
    DeclareOpInterfaceMethods<DifferentiableOpInterface>, withCreateLocal]> {
  let summary = "Slices along a dimension, chosen by an array of indices";
  let description = [{
    The dimensions of `indices` (any number, none included) replace `dim`. Indices are clamped. `array.take %x, %i dim 1
    : <f32[8, 6]>, <i32[2, 3]> -> <f32[8, 2, 3]>`
  }];
  let arguments = (ins Spmd_ArrayType:$operand, Spmd_ArrayType:$indices, I64Attr:$dim);
  let builders = [OpBuilder<(ins "::mlir::Value":$operand, "::mlir::Value":$indices, "int64_t":$dim)>];
  let assemblyFormat = "$operand `,` $indices `dim` $dim attr-dict `:` type($operand) `,` type($indices) `->` type($result)";
  let extraClassDeclaration = [{
    static ::llvm::SmallVector<int64_t> inferShape(ArrayType operand, ArrayType indices, int64_t dim);
    bool readsPartOfFirstOperand() { return true; }
  }];
  let hasVerifier = 1;
}

def Array_TakeAlongOp : Array_Op<"take_along", [DeclareOpInterfaceMethods<EvaluateOpInterface>,
    DeclareOpInterfaceMethods<DifferentiableOpInterface>, withCreateLocal]> {
  let summary = "Elements along a dimension, chosen for each position separately";
  let description = [{
    Operand and indices agree in all dimensions but `dim`; the result has the shape of the indices, which are clamped:
    `result[i, j] = operand[i, indices[i, j]]` for dim 1.
  }];
  let arguments = (ins Spmd_ArrayType:$operand, Spmd_ArrayType:$indices, I64Attr:$dim);
  let builders = [OpBuilder<(ins "::mlir::Value":$operand, "::mlir::Value":$indices, "int64_t":$dim)>];
  let assemblyFormat = "$operand `,` $indices `dim` $dim attr-dict `:` type($operand) `,` type($indices) `->` type($result)";
  let extraClassDeclaration = "bool readsPartOfFirstOperand() { return true; }";
  let hasVerifier = 1;
}

class Array_ScatterOp<string mnemonic> : Array_Op<mnemonic, [withLinearOperands,
    DeclareOpInterfaceMethods<EvaluateOpInterface>,
    DeclareOpInterfaceMethods<DifferentiableOpInterface>,
    DeclareOpInterfaceMethods<ShardingRuleOpInterface, ["createLocal", "getPaddingValue", "isAddedTo"]>]> {
  let arguments = (ins Spmd_ArrayType:$operand, Spmd_ArrayType:$indices, Spmd_ArrayType:$updates, I64Attr:$dim);
  let builders = [OpBuilder<(ins "::mlir::Value":$operand, "::mlir::Value":$indices, "::mlir::Value":$updates,
                                 "int64_t":$dim),
                            [{ build($_builder, $_state, operand.getType(), operand, indices, updates, dim); }]>];
  let assemblyFormat = [{
    $operand `,` $indices `,` $updates `dim` $dim attr-dict `:` type($operand) `,` type($indices) `,` type($updates)
    `->` type($result)
  }];
  let extraClassDeclaration = "::std::optional<unsigned> getUpdateOperandNumber() { return 2; }";
  let hasVerifier = 1;
}

def Array_ScatterAddOp : Array_ScatterOp<"scatter_add"> {
  let summary = "The operand with updates added to the slices that indices name";
  let description = [{
    The transpose of `take`: updates have its result's shape. Indices outside are dropped; equal ones add up in
    row-major order of the indices (bf16 and f16 in f32, rounded once), for reproducible bits. bools are or-ed. Updates
    of bf16 and f16 may be added to partial sums (unreduced) of f32. Runs in place if no later operation reads the
    operand.
  }];
}

def Array_ScatterAddAlongOp : Array_ScatterOp<"scatter_add_along"> {
  let summary = "The operand with updates added along a dimension, at a position for each update";
  let description = "The transpose of `take_along`: updates have the shape of the indices; else as `scatter_add`.";
}

def Array_ArgsortOp : Array_Op<"argsort", [ZeroDerivative, DeclareOpInterfaceMethods<EvaluateOpInterface>]> {
  let summary = "The indices (i32 or i64) that sort the elements along a dimension";
  let description = [{
    Stable: equal elements keep their order, also where `descending`. Ascending, zeros of both signs are equal, and NaN
    is larger than any number (jnp.argsort). Descending, signs count: 0 is larger than -0, and a negative NaN is smaller
    than any number (lax.top_k).
  }];
  let arguments = (ins Spmd_ArrayType:$operand, I64Attr:$dim, BoolAttr:$descending);
  let builders = [OpBuilder<(ins "::mlir::Value":$operand, "int64_t":$dim, "bool":$descending)>];
  let assemblyFormat = "$operand `dim` $dim `descending` `=` $descending attr-dict `:` type($operand) `->` type($result)";
  let hasVerifier = 1;
}

def Array_Threefry2x32Op : Array_ElementwiseOp<"threefry2x32", [SameArray], "",
    "evaluateThreefry(operands, getWord())", "emitThreefry(b, loc, operands, getWord())"> {
  let summary = "One word of the Threefry-2x32 block cipher, 20 rounds";
  let description = "Encrypts the counter (c0, c1) under the key (k0, k1), all u32; `word` is 0 or 1.";
  let arguments = (ins Spmd_ArrayType:$k0, Spmd_ArrayType:$k1, Spmd_ArrayType:$c0, Spmd_ArrayType:$c1, I64Attr:$word);
  let builders = [OpBuilder<(ins "::mlir::Value":$k0, "::mlir::Value":$k1, "::mlir::Value":$c0, "::mlir::Value":$c1,
                                 "int64_t":$word),
                            [{ build($_builder, $_state, c0.getType(), k0, k1, c0, c1, word); }]>];
  let assemblyFormat = [{
    `word` $word $k0 `,` $k1 `,` $c0 `,` $c1 attr-dict `:` type($k0) `,` type($k1) `,` type($c0) `,` type($c1) `->`
    type($result)
  }];
  let hasVerifier = 1;
}

#endif
