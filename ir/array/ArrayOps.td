//===- ArrayOps.td - the global-view array operations ---------*- tablegen -*-===//
//
// Names and semantics are StableHLO's, shapes are static, results are inferred. Shapes are global before partitioning,
// and local to one device afterwards.
//
//===----------------------------------------------------------------------===//

#ifndef SPMDC_ARRAY_OPS
#define SPMDC_ARRAY_OPS

include "ir/array/ArrayEnums.td"
include "ir/interfaces/OpInterfaces.td"
include "ir/spmd/SpmdBase.td"
include "mlir/Interfaces/InferTypeOpInterface.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

def Array_Dialect : Dialect {
  let name = "array";
  let cppNamespace = "::spmdc";
  let summary = "Array operations with StableHLO's names and semantics";
  let dependentDialects = ["::spmdc::SpmdDialect"];
  let hasConstantMaterializer = 1;
  let hasCanonicalizer = 1;
}

class Array_Op<string mnemonic, list<Trait> traits = []> : Op<Array_Dialect, mnemonic, traits # [Pure,
    DeclareOpInterfaceMethods<ShardingRuleOpInterface>]> {
  let results = (outs Spmd_ArrayType:$result);
}

include "ir/array/ElementwiseOps.td"
include "ir/array/GradientOps.td"
include "ir/array/IndexOps.td"

//===- Creation -----------------------------------------------------------===//

def Array_ConstantOp : Array_Op<"constant", [ConstantLike, ZeroDerivative, DeclareOpInterfaceMethods<EvaluateOpInterface>,
    DeclareOpInterfaceMethods<ShardingRuleOpInterface, ["createLocal"]>]> {
  let summary = "A constant array";
  let description = "`array.constant dense<1.0> : tensor<4xf32> -> <f32[4]>`";
  let arguments = (ins ElementsAttr:$value);
  let builders = [
    OpBuilder<(ins "::mlir::DenseElementsAttr":$value)>,
    OpBuilder<(ins "ArrayType":$type, "Scalar":$splat)>];
  let assemblyFormat = "$value attr-dict `->` type($result)";
  let hasVerifier = 1;
  let hasFolder = 1;
}

def Array_IotaOp : Array_Op<"iota", [ZeroDerivative, DeclareOpInterfaceMethods<EvaluateOpInterface>,
    DeclareOpInterfaceMethods<ShardingRuleOpInterface, ["createLocal"]>]> {
  let summary = "0, 1, 2, ... along one dimension";
  let arguments = (ins I64Attr:$dim);
  let assemblyFormat = "`dim` $dim attr-dict `:` type($result)";
  let hasVerifier = 1;
}

//===- Shape --------------------------------------------------------------===//

def Array_BroadcastInDimOp : Array_Op<"broadcast_in_dim", [LinearOpInterface, DeclareOpInterfaceMethods<DifferentiableOpInterface>,
    DeclareOpInterfaceMethods<EvaluateOpInterface>]> {
  let summary = "Repeats along new dimensions and dimensions of size 1";
  let description = "Operand dimension i becomes result dimension `dims[i]` (increasing); its size is that or 1.";
  let arguments = (ins Spmd_ArrayType:$operand, DenseI64ArrayAttr:$dims);
  let assemblyFormat = "$operand `dims` $dims attr-dict `:` type($operand) `->` type($result)";
  let hasVerifier = 1;
  let hasFolder = 1;
}

def Array_ReshapeOp : Array_Op<"reshape", [LinearOpInterface, DeclareOpInterfaceMethods<DifferentiableOpInterface>,
    DeclareOpInterfaceMethods<EvaluateOpInterface>]> {
  let summary = "The same elements in row-major order under another shape";
  let arguments = (ins Spmd_ArrayType:$operand);
  let assemblyFormat = "$operand attr-dict `:` type($operand) `->` type($result)";
  let hasVerifier = 1;
  let hasFolder = 1;
}

def Array_TransposeOp : Array_Op<"transpose", [LinearOpInterface, DeclareOpInterfaceMethods<DifferentiableOpInterface>,
    DeclareOpInterfaceMethods<EvaluateOpInterface>]> {
  let summary = "Permutes dimensions: result dimension i is operand dimension perm[i]";
  let arguments = (ins Spmd_ArrayType:$operand, DenseI64ArrayAttr:$perm);
  let builders = [OpBuilder<(ins "::mlir::Value":$operand, "::llvm::ArrayRef<int64_t>":$perm)>];
  let assemblyFormat = "$operand `perm` $perm attr-dict `:` type($operand) `->` type($result)";
  let hasVerifier = 1;
  let hasFolder = 1;
}

def Array_SliceOp : Array_Op<"slice", [LinearOpInterface, DeclareOpInterfaceMethods<DifferentiableOpInterface>,
    DeclareOpInterfaceMethods<EvaluateOpInterface>,
    DeclareOpInterfaceMethods<ShardingRuleOpInterface, ["createLocal", "getMoves"]>]> {
  let summary = "Elements start, start + stride, ... below limit of each dimension";
  let arguments = (ins Spmd_ArrayType:$operand, DenseI64ArrayAttr:$starts, DenseI64ArrayAttr:$limits,
                       DenseI64ArrayAttr:$strides);
  let builders = [OpBuilder<(ins "::mlir::Value":$operand, "::llvm::ArrayRef<int64_t>":$starts,
                                 "::llvm::ArrayRef<int64_t>":$limits, "::llvm::ArrayRef<int64_t>":$strides)>];
  let assemblyFormat = "$operand $starts `to` $limits `step` $strides attr-dict `:` type($operand) `->` type($result)";
  let extraClassDeclaration = "bool readsPartOfFirstOperand() { return true; }";
  let hasVerifier = 1;
  let hasFolder = 1;
}

def Array_PadOp : Array_Op<"pad", [DeclareOpInterfaceMethods<DifferentiableOpInterface>,
    DeclareOpInterfaceMethods<EvaluateOpInterface>,
    DeclareOpInterfaceMethods<ShardingRuleOpInterface, ["getMoves"]>]> {
  let summary = "Adds the scalar `value` before, after and between elements";
  let description = "Negative low and high remove elements; interior is at least 0.";
  let arguments = (ins Spmd_ArrayType:$operand, Spmd_ArrayType:$value, DenseI64ArrayAttr:$low, DenseI64ArrayAttr:$high,
                       DenseI64ArrayAttr:$interior);
  let assemblyFormat = [{
    $operand `with` $value `low` $low `high` $high `interior` $interior attr-dict `:` type($operand) `,` type($value)
    `->` type($result)
  }];
  let hasVerifier = 1;
}

def Array_ConcatenateOp : Array_Op<"concatenate", [withLinearOperands,
    DeclareOpInterfaceMethods<DifferentiableOpInterface>,
    DeclareOpInterfaceMethods<EvaluateOpInterface>,
    DeclareOpInterfaceMethods<ShardingRuleOpInterface, ["createLocal", "getMoves"]>]> {
  let summary = "Concatenates arrays along a dimension";
  let arguments = (ins Variadic<Spmd_ArrayType>:$operands, I64Attr:$dim);
  let assemblyFormat = "$operands `dim` $dim attr-dict `:` type($operands) `->` type($result)";
  let hasVerifier = 1;
}

def Array_ReverseOp : Array_Op<"reverse", [LinearOpInterface, DeclareOpInterfaceMethods<DifferentiableOpInterface>,
    DeclareOpInterfaceMethods<EvaluateOpInterface>,
    DeclareOpInterfaceMethods<ShardingRuleOpInterface, ["getMoves"]>]> {
  let summary = "Reverses the order of elements along dimensions";
  let arguments = (ins Spmd_ArrayType:$operand, DenseI64ArrayAttr:$dims);
  let assemblyFormat = "$operand `dims` $dims attr-dict `:` type($operand) `->` type($result)";
  let hasVerifier = 1;
}

//===- Contractions and reductions ----------------------------------------===//

def Array_DotGeneralOp : Array_Op<"dot_general", [DeclareOpInterfaceMethods<DifferentiableOpInterface>,
    DeclareOpInterfaceMethods<EvaluateOpInterface>,
    DeclareOpInterfaceMethods<ShardingRuleOpInterface, ["getPaddingValue"]>]> {
  let summary = "Contraction with batch dimensions";
  let description = [{
    Result dimensions: batch, then free ones of lhs, then free ones of rhs. bf16 and f16 are accumulated in f32, which
    may be the result's element type. `array.dot_general %x, %y contract [1] x [0] batch [] x [] : <f32[8, 16]>,
    <f32[16, 4]> -> <f32[8, 4]>`
  }];
  let arguments = (ins Spmd_ArrayType:$lhs, Spmd_ArrayType:$rhs, DenseI64ArrayAttr:$lhsContract,
                       DenseI64ArrayAttr:$rhsContract, DenseI64ArrayAttr:$lhsBatch, DenseI64ArrayAttr:$rhsBatch);
  let assemblyFormat = [{
    $lhs `,` $rhs `contract` $lhsContract `x` $rhsContract `batch` $lhsBatch `x` $rhsBatch attr-dict `:` type($lhs) `,`
    type($rhs) `->` type($result)
  }];
  let extraClassDeclaration = [{
    /// Dimensions of a side that are neither batch nor contracted, in order.
    ::llvm::SmallVector<int64_t> getLhsFreeDims();
    ::llvm::SmallVector<int64_t> getRhsFreeDims();
    /// The shape of the result.
    static ::llvm::SmallVector<int64_t> inferShape(ArrayType lhs, ArrayType rhs, ::llvm::ArrayRef<int64_t> lhsContract,
        ::llvm::ArrayRef<int64_t> rhsContract, ::llvm::ArrayRef<int64_t> lhsBatch, ::llvm::ArrayRef<int64_t> rhsBatch);
  }];
  let hasVerifier = 1;
}

def Array_EinsumOp : Array_Op<"einsum", [DeclareOpInterfaceMethods<DifferentiableOpInterface>,
    DeclareOpInterfaceMethods<EvaluateOpInterface>,
    DeclareOpInterfaceMethods<ShardingRuleOpInterface, ["getPaddingValue"]>]> {
  let summary = "Sum of products of arrays whose dimensions have labels, in any order";
  let description = [{
    As NumPy's einsum of any number of operands: an element of the result is the sum, over all labels that the result
    lacks, of the product of one element of each operand. Each label is in the result or in two operands, and in none
    twice. The order of the products is chosen when the shardings of the operands are known
    (`spmdc-order-contractions`); two operands alone are a `dot_general`. As in JAX, that order determines roundings,
    the signs of zeros, and the results with infinities. `array.einsum %x, %y, %z labels [[0, 1], [1, 2], [2, 3]] ->
    [0, 3] : ...` is `x @ y @ z`.
  }];
  let arguments = (ins Variadic<Spmd_ArrayType>:$operands, ArrayAttr:$labels, DenseI64ArrayAttr:$resultLabels);
  let builders = [OpBuilder<(ins "ArrayType":$type, "::mlir::ValueRange":$operands,
                             "::llvm::ArrayRef<::llvm::SmallVector<int64_t>>":$labels,
                             "::llvm::ArrayRef<int64_t>":$resultLabels)>];
  let assemblyFormat = "$operands `labels` custom<LabelLists>($labels) `->` $resultLabels attr-dict `:` type($operands) `->` type($result)";
  let extraClassDeclaration = [{
    /// The labels of an operand's dimensions, in order.
    ::llvm::ArrayRef<int64_t> getLabelsOf(unsigned operand);
  }];
  let hasVerifier = 1;
}

def Array_ReduceOp : Array_Op<"reduce", [withLinearOperands,
    DeclareOpInterfaceMethods<DifferentiableOpInterface>,
    DeclareOpInterfaceMethods<EvaluateOpInterface>,
    DeclareOpInterfaceMethods<ShardingRuleOpInterface, ["getPaddingValue", "getReductionKind"]>]> {
  let summary = "Combines all elements along dimensions, which the result lacks";
  let description = [{ bf16 and f16 are accumulated in f32, which is the element type of their partial sums (unreduced).
    `array.reduce sum %x dims [1] : <f32[8, 4]> -> <f32[8]>`
  }];
  let arguments = (ins Spmd_ArrayType:$operand, Spmd_ReductionKind:$kind, DenseI64ArrayAttr:$dims);
  let builders = [OpBuilder<(ins "::mlir::Value":$operand, "ReductionKind":$kind, "::llvm::ArrayRef<int64_t>":$dims)>];
  let assemblyFormat = "$kind $operand `dims` $dims attr-dict `:` type($operand) `->` type($result)";
  let hasVerifier = 1;
  let hasFolder = 1;
}

def Array_ArgReduceOp : Array_Op<"arg_reduce", [ZeroDerivative,
    DeclareOpInterfaceMethods<EvaluateOpInterface>,
    DeclareOpInterfaceMethods<ShardingRuleOpInterface, ["createLocal", "getPaddingValue", "getCombiningBytes"]>]> {
  let summary = "Index (i32 or i64) of the first largest or smallest element along a dimension, which the result lacks";
  let description = "A NaN counts as largest and smallest at once: the first NaN is the answer, as in JAX.";
  let arguments = (ins Spmd_ArrayType:$operand, BoolAttr:$isMax, I64Attr:$dim);
  let assemblyFormat = "$operand `max` `=` $isMax `dim` $dim attr-dict `:` type($operand) `->` type($result)";
  let hasVerifier = 1;
}

def Array_CumulativeOp : Array_Op<"cumulative", [DeclareOpInterfaceMethods<DifferentiableOpInterface>,
    DeclareOpInterfaceMethods<EvaluateOpInterface>,
    DeclareOpInterfaceMethods<ShardingRuleOpInterface, ["createLocal", "getPaddingValue", "getCombiningBytes"]>]> {
  let summary = "Inclusive scan along a dimension, from its beginning or from its end";
  let description = [{
    `continued`: a line along the dimension begins with the total of the line before it along the dimension before, so
    that both dimensions are scanned as one, in row-major order. GPUs scan a long dimension as blocks, which is this scan.
  }];
  let arguments = (ins Spmd_ArrayType:$operand, Spmd_ReductionKind:$kind, I64Attr:$dim, UnitAttr:$reversed,
    UnitAttr:$continued);
  let assemblyFormat =
      "$kind $operand `dim` $dim (`reversed` $reversed^)? (`continued` $continued^)? attr-dict `:` type($operand) `->` "
      "type($result)";
  let extraClassDeclaration = [{
    /// The type in which the two dimensions of a continued scan are one, at the place of the first.
    ArrayType getJoinedType();
  }];
  let hasVerifier = 1;
}

include "ir/array/ControlOps.td"

#endif
