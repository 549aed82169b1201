//===- StablehloOps.td - the operations of StableHLO ----------*- tablegen -*-===//
//
// Names, attributes and assembly are those of the public specification (openxla.org/stablehlo/spec), as JAX writes them.
// The definitions here read programs; their meaning is that of the array operations that ../Translate*.cpp make of them.
// Shapes are checked there, where a message can name the cause.
//
//===----------------------------------------------------------------------===//

#ifndef SPMDC_STABLEHLO_OPS
#define SPMDC_STABLEHLO_OPS

include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/OpBase.td"

def Stablehlo_Dialect : Dialect {
  let name = "stablehlo";
  let cppNamespace = "::spmdc::stablehlo";
  let summary = "Portable array operations, as JAX exports them";
  let useDefaultAttributePrinterParser = 1;
}

//===- Attributes ---------------------------------------------------------===//

class Stablehlo_Attr<string cppName, string attrMnemonic> : AttrDef<Stablehlo_Dialect, cppName> {
  let mnemonic = attrMnemonic;
}

/// Parameters in `<name = value, ...>`, in any order; a list may be absent.
class Stablehlo_StructAttr<string cppName, string attrMnemonic> : Stablehlo_Attr<cppName, attrMnemonic> {
  let hasCustomAssemblyFormat = 1;
}

def Stablehlo_GatherAttr : Stablehlo_StructAttr<"GatherDims", "gather"> {
  let parameters = (ins ArrayRefParameter<"int64_t">:$offsetDims, ArrayRefParameter<"int64_t">:$collapsedSliceDims,
                        ArrayRefParameter<"int64_t">:$operandBatchingDims, ArrayRefParameter<"int64_t">:$startIndicesBatchingDims,
                        ArrayRefParameter<"int64_t">:$startIndexMap, "int64_t":$indexVectorDim);
}

def Stablehlo_ScatterAttr : Stablehlo_StructAttr<"ScatterDims", "scatter"> {
  let parameters = (ins ArrayRefParameter<"int64_t">:$updateWindowDims, ArrayRefParameter<"int64_t">:$insertedWindowDims,
                        ArrayRefParameter<"int64_t">:$inputBatchingDims, ArrayRefParameter<"int64_t">:$scatterIndicesBatchingDims,
                        ArrayRefParameter<"int64_t">:$scatterDimsToOperandDims, "int64_t":$indexVectorDim);
}

/// Of custom calls.
def Stablehlo_OutputOperandAliasAttr : Stablehlo_StructAttr<"OutputOperandAlias", "output_operand_alias"> {
  let parameters = (ins ArrayRefParameter<"int64_t">:$outputTupleIndices, "int64_t":$operandIndex,
                        ArrayRefParameter<"int64_t">:$operandTupleIndices);
}

def Stablehlo_ChannelHandleAttr : Stablehlo_Attr<"ChannelHandle", "channel_handle"> {
  let parameters = (ins "int64_t":$handle, "int64_t":$type);
  let assemblyFormat = "`<` `handle` `=` $handle `,` `type` `=` $type `>`";
}

/// An enumeration of the specification, as the word that it is written with: `#stablehlo<precision DEFAULT>`.
class Stablehlo_KeywordAttr<string cppName, string attrMnemonic> : Stablehlo_Attr<cppName, attrMnemonic> {
  let parameters = (ins StringRefParameter<>:$value);
  let hasCustomAssemblyFormat = 1;
}
def Stablehlo_PrecisionAttr : Stablehlo_KeywordAttr<"Precision", "precision">;
def Stablehlo_ComparisonDirectionAttr : Stablehlo_KeywordAttr<"ComparisonDirection", "comparison_direction">;
def Stablehlo_ComparisonTypeAttr : Stablehlo_KeywordAttr<"ComparisonType", "comparison_type">;
def Stablehlo_FftTypeAttr : Stablehlo_KeywordAttr<"FftType", "fft_type">;
def Stablehlo_TransposeAttr : Stablehlo_KeywordAttr<"Transpose", "transpose">;
def Stablehlo_RngAlgorithmAttr : Stablehlo_KeywordAttr<"RngAlgorithm", "rng_algorithm">;

//===- Bases --------------------------------------------------------------===//

class Stablehlo_Op<string mnemonic, list<Trait> traits = []> : Op<Stablehlo_Dialect, mnemonic, traits>;

class Stablehlo_OneResultOp<string mnemonic, list<Trait> traits = []> : Stablehlo_Op<mnemonic, traits> {
  let results = (outs AnyRankedTensor:$result);
}

class Stablehlo_NullaryOp<string mnemonic> : Stablehlo_OneResultOp<mnemonic> {
  let assemblyFormat = "attr-dict `:` type($result)";
}

class Stablehlo_UnaryOp<string mnemonic> : Stablehlo_OneResultOp<mnemonic> {
  let arguments = (ins AnyRankedTensor:$operand);
  let assemblyFormat = "$operand attr-dict `:` custom<SameTypes>(type($operand), type($result))";
}

/// Both types are written, also where they are the same.
class Stablehlo_RetypingOp<string mnemonic> : Stablehlo_OneResultOp<mnemonic> {
  let arguments = (ins AnyRankedTensor:$operand);
  let assemblyFormat = "$operand attr-dict `:` functional-type(operands, results)";
}

class Stablehlo_BinaryOp<string mnemonic> : Stablehlo_OneResultOp<mnemonic> {
  let arguments = (ins AnyRankedTensor:$lhs, AnyRankedTensor:$rhs);
  let assemblyFormat = "$lhs `,` $rhs attr-dict `:` custom<SameTypes>(type($lhs), type($rhs), type($result))";
}

//===- Element-wise -------------------------------------------------------===//

def Stablehlo_AbsOp : Stablehlo_UnaryOp<"abs">;
def Stablehlo_CbrtOp : Stablehlo_UnaryOp<"cbrt">;
def Stablehlo_CeilOp : Stablehlo_UnaryOp<"ceil">;
def Stablehlo_ConvertOp : Stablehlo_UnaryOp<"convert">;
def Stablehlo_CountLeadingZerosOp : Stablehlo_UnaryOp<"count_leading_zeros">;
def Stablehlo_CosineOp : Stablehlo_UnaryOp<"cosine">;
def Stablehlo_ExponentialOp : Stablehlo_UnaryOp<"exponential">;
def Stablehlo_ExponentialMinusOneOp : Stablehlo_UnaryOp<"exponential_minus_one">;
def Stablehlo_FloorOp : Stablehlo_UnaryOp<"floor">;
def Stablehlo_ImagOp : Stablehlo_UnaryOp<"imag">;
def Stablehlo_IsFiniteOp : Stablehlo_UnaryOp<"is_finite">;
def Stablehlo_LogOp : Stablehlo_UnaryOp<"log">;
def Stablehlo_LogPlusOneOp : Stablehlo_UnaryOp<"log_plus_one">;
def Stablehlo_LogisticOp : Stablehlo_UnaryOp<"logistic">;
def Stablehlo_NegateOp : Stablehlo_UnaryOp<"negate">;
def Stablehlo_NotOp : Stablehlo_UnaryOp<"not">;
def Stablehlo_PopcntOp : Stablehlo_UnaryOp<"popcnt">;
def Stablehlo_RealOp : Stablehlo_UnaryOp<"real">;
def Stablehlo_RoundNearestAfzOp : Stablehlo_UnaryOp<"round_nearest_afz">;
def Stablehlo_RoundNearestEvenOp : Stablehlo_UnaryOp<"round_nearest_even">;
def Stablehlo_RsqrtOp : Stablehlo_UnaryOp<"rsqrt">;
def Stablehlo_SignOp : Stablehlo_UnaryOp<"sign">;
def Stablehlo_SineOp : Stablehlo_UnaryOp<"sine">;
def Stablehlo_SqrtOp : Stablehlo_UnaryOp<"sqrt">;
def Stablehlo_TanOp : Stablehlo_UnaryOp<"tan">;
def Stablehlo_TanhOp : Stablehlo_UnaryOp<"tanh">;
def Stablehlo_BitcastConvertOp : Stablehlo_RetypingOp<"bitcast_convert">;
def Stablehlo_ReshapeOp : Stablehlo_RetypingOp<"reshape">;

def Stablehlo_AddOp : Stablehlo_BinaryOp<"add">;
def Stablehlo_AndOp : Stablehlo_BinaryOp<"and">;
def Stablehlo_Atan2Op : Stablehlo_BinaryOp<"atan2">;
def Stablehlo_ComplexOp : Stablehlo_OneResultOp<"complex"> {
  let arguments = (ins AnyRankedTensor:$lhs, AnyRankedTensor:$rhs);
  let assemblyFormat = "$lhs `,` $rhs attr-dict `:` custom<ComplexTypes>(type($lhs), type($rhs), type($result))";
}
def Stablehlo_DivideOp : Stablehlo_BinaryOp<"divide">;
def Stablehlo_MaximumOp : Stablehlo_BinaryOp<"maximum">;
def Stablehlo_MinimumOp : Stablehlo_BinaryOp<"minimum">;
def Stablehlo_MultiplyOp : Stablehlo_BinaryOp<"multiply">;
def Stablehlo_OrOp : Stablehlo_BinaryOp<"or">;
def Stablehlo_PowerOp : Stablehlo_BinaryOp<"power">;
def Stablehlo_RemainderOp : Stablehlo_BinaryOp<"remainder">;
def Stablehlo_ShiftLeftOp : Stablehlo_BinaryOp<"shift_left">;
def Stablehlo_ShiftRightArithmeticOp : Stablehlo_BinaryOp<"shift_right_arithmetic">;
def Stablehlo_ShiftRightLogicalOp : Stablehlo_BinaryOp<"shift_right_logical">;
def Stablehlo_SubtractOp : Stablehlo_BinaryOp<"subtract">;
def Stablehlo_XorOp : Stablehlo_BinaryOp<"xor">;

def Stablehlo_CompareOp : Stablehlo_OneResultOp<"compare"> {
  let arguments = (ins AnyRankedTensor:$lhs, AnyRankedTensor:$rhs, Stablehlo_ComparisonDirectionAttr:$comparison_direction,
                       OptionalAttr<Stablehlo_ComparisonTypeAttr>:$compare_type);
  let assemblyFormat = [{
    custom<Keyword>($comparison_direction) `,` $lhs `,` $rhs (`,` custom<Keyword>($compare_type)^)? attr-dict `:`
    functional-type(operands, results)
  }];
}

def Stablehlo_SelectOp : Stablehlo_OneResultOp<"select"> {
  let arguments = (ins AnyRankedTensor:$pred, AnyRankedTensor:$on_true, AnyRankedTensor:$on_false);
  let assemblyFormat = [{
    operands attr-dict `:` custom<SelectTypes>(type($pred), type($on_true), type($on_false), type($result))
  }];
}

def Stablehlo_ClampOp : Stablehlo_OneResultOp<"clamp"> {
  let arguments = (ins AnyRankedTensor:$min, AnyRankedTensor:$operand, AnyRankedTensor:$max);
  let assemblyFormat = [{
    $min `,` $operand `,` $max attr-dict `:` custom<SameTypes>(type($min), type($operand), type($max), type($result))
  }];
}

def Stablehlo_ReducePrecisionOp : Stablehlo_OneResultOp<"reduce_precision"> {
  let arguments = (ins AnyRankedTensor:$operand, I32Attr:$exponent_bits, I32Attr:$mantissa_bits);
  let assemblyFormat = [{
    $operand `,` `format` `=` custom<ExponentMantissa>($exponent_bits, $mantissa_bits) attr-dict `:`
    custom<SameTypes>(type($operand), type($result))
  }];
}

//===- Creation and movement ----------------------------------------------===//

def Stablehlo_ConstantOp : Stablehlo_OneResultOp<"constant"> {
  let arguments = (ins ElementsAttr:$value);
  let hasCustomAssemblyFormat = 1;
}

def Stablehlo_IotaOp : Stablehlo_OneResultOp<"iota"> {
  let arguments = (ins I64Attr:$iota_dimension);
  let assemblyFormat = "`dim` `=` $iota_dimension attr-dict `:` type($result)";
}

def Stablehlo_BroadcastInDimOp : Stablehlo_OneResultOp<"broadcast_in_dim"> {
  let arguments = (ins AnyRankedTensor:$operand, DenseI64ArrayAttr:$broadcast_dimensions);
  let assemblyFormat = "$operand `,` `dims` `=` $broadcast_dimensions attr-dict `:` functional-type(operands, results)";
}

def Stablehlo_TransposeOp : Stablehlo_OneResultOp<"transpose"> {
  let arguments = (ins AnyRankedTensor:$operand, DenseI64ArrayAttr:$permutation);
  let assemblyFormat = "$operand `,` `dims` `=` $permutation attr-dict `:` functional-type(operands, results)";
}

def Stablehlo_ReverseOp : Stablehlo_OneResultOp<"reverse"> {
  let arguments = (ins AnyRankedTensor:$operand, DenseI64ArrayAttr:$dimensions);
  let assemblyFormat = "$operand `,` `dims` `=` $dimensions attr-dict `:` custom<SameTypes>(type($operand), type($result))";
}

def Stablehlo_SliceOp : Stablehlo_OneResultOp<"slice"> {
  let arguments = (ins AnyRankedTensor:$operand, DenseI64ArrayAttr:$start_indices, DenseI64ArrayAttr:$limit_indices,
                       DenseI64ArrayAttr:$strides);
  let assemblyFormat = [{
    $operand custom<SliceRanges>($start_indices, $limit_indices, $strides) attr-dict `:` functional-type(operands, results)
  }];
}

def Stablehlo_PadOp : Stablehlo_OneResultOp<"pad"> {
  let arguments = (ins AnyRankedTensor:$operand, AnyRankedTensor:$padding_value, DenseI64ArrayAttr:$edge_padding_low,
                       DenseI64ArrayAttr:$edge_padding_high, DenseI64ArrayAttr:$interior_padding);
  let assemblyFormat = [{
    $operand `,` $padding_value `,` `low` `=` $edge_padding_low `,` `high` `=` $edge_padding_high `,` `interior` `=`
    $interior_padding attr-dict `:` functional-type(operands, results)
  }];
}

def Stablehlo_ConcatenateOp : Stablehlo_OneResultOp<"concatenate"> {
  let arguments = (ins Variadic<AnyRankedTensor>:$inputs, I64Attr:$dimension);
  let assemblyFormat = "custom<CommaOperands>($inputs) `dim` `=` $dimension attr-dict `:` functional-type(operands, results)";
}

def Stablehlo_DynamicSliceOp : Stablehlo_OneResultOp<"dynamic_slice"> {
  let arguments = (ins AnyRankedTensor:$operand, Variadic<AnyRankedTensor>:$start_indices, DenseI64ArrayAttr:$slice_sizes);
  let assemblyFormat = [{
    $operand `,` custom<CommaOperands>($start_indices) `sizes` `=` $slice_sizes attr-dict `:` functional-type(operands, results)
  }];
}

def Stablehlo_DynamicUpdateSliceOp : Stablehlo_OneResultOp<"dynamic_update_slice"> {
  let arguments = (ins AnyRankedTensor:$operand, AnyRankedTensor:$update, Variadic<AnyRankedTensor>:$start_indices);
  let assemblyFormat = "operands attr-dict `:` functional-type(operands, results)";
}

def Stablehlo_GatherOp : Stablehlo_OneResultOp<"gather"> {
  let arguments = (ins AnyRankedTensor:$operand, AnyRankedTensor:$start_indices, Stablehlo_GatherAttr:$dimension_numbers,
                       DenseI64ArrayAttr:$slice_sizes, DefaultValuedAttr<BoolAttr, "false">:$indices_are_sorted);
}

def Stablehlo_ScatterOp : Stablehlo_Op<"scatter", [SameVariadicOperandSize]> {
  let arguments = (ins Variadic<AnyRankedTensor>:$inputs, AnyRankedTensor:$scatter_indices,
                       Variadic<AnyRankedTensor>:$updates, Stablehlo_ScatterAttr:$scatter_dimension_numbers,
                       DefaultValuedAttr<BoolAttr, "false">:$indices_are_sorted,
                       DefaultValuedAttr<BoolAttr, "false">:$unique_indices);
  let results = (outs Variadic<AnyRankedTensor>:$outputs);
  let regions = (region SizedRegion<1>:$update_computation);
}

//===- Contractions, reductions, windows ----------------------------------===//

def Stablehlo_DotGeneralOp : Stablehlo_OneResultOp<"dot_general"> {
  let arguments = (ins AnyRankedTensor:$lhs, AnyRankedTensor:$rhs,
                       DefaultValuedAttr<DenseI64ArrayAttr, "{}">:$lhs_batching_dimensions,
                       DefaultValuedAttr<DenseI64ArrayAttr, "{}">:$rhs_batching_dimensions,
                       DefaultValuedAttr<DenseI64ArrayAttr, "{}">:$lhs_contracting_dimensions,
                       DefaultValuedAttr<DenseI64ArrayAttr, "{}">:$rhs_contracting_dimensions,
                       OptionalAttr<ArrayAttr>:$precision_config);
  let hasCustomAssemblyFormat = 1;
}

def Stablehlo_ConvolutionOp : Stablehlo_OneResultOp<"convolution"> {
  let description = [{
    Layouts are strings of one letter for each dimension: `b` batch, `f` channels of input and result, `i` and `o`
    channels of the kernel, digits the positions.
  }];
  let arguments = (ins AnyRankedTensor:$lhs, AnyRankedTensor:$rhs, StrAttr:$lhs_layout, StrAttr:$rhs_layout,
                       StrAttr:$result_layout, DenseI64ArrayAttr:$window_strides, DenseI64ArrayAttr:$padding,
                       DenseI64ArrayAttr:$lhs_dilation, DenseI64ArrayAttr:$rhs_dilation,
                       DenseBoolArrayAttr:$window_reversal, DefaultValuedAttr<I64Attr, "1">:$feature_group_count,
                       DefaultValuedAttr<I64Attr, "1">:$batch_group_count, OptionalAttr<ArrayAttr>:$precision_config);
  let assemblyFormat = [{
    `(` $lhs `,` $rhs `)` `dim_numbers` `=` custom<Layouts>($lhs_layout, $rhs_layout, $result_layout) `,` `window` `=`
    custom<ConvWindow>(ref($lhs_layout), $window_strides, $padding, $lhs_dilation, $rhs_dilation, $window_reversal)
    attr-dict `:` functional-type(operands, results)
  }];
}

def Stablehlo_ReduceOp : Stablehlo_Op<"reduce", [SameVariadicOperandSize]> {
  let arguments = (ins Variadic<AnyRankedTensor>:$inputs, Variadic<AnyRankedTensor>:$init_values,
                       DenseI64ArrayAttr:$dimensions);
  let results = (outs Variadic<AnyRankedTensor>:$outputs);
  let regions = (region SizedRegion<1>:$body);
  let hasCustomAssemblyFormat = 1;
}

def Stablehlo_MapOp : Stablehlo_OneResultOp<"map"> {
  let arguments = (ins Variadic<AnyRankedTensor>:$inputs, DenseI64ArrayAttr:$dimensions);
  let regions = (region SizedRegion<1>:$computation);
}

def Stablehlo_ReduceWindowOp : Stablehlo_Op<"reduce_window", [SameVariadicOperandSize]> {
  let arguments = (ins Variadic<AnyRankedTensor>:$inputs, Variadic<AnyRankedTensor>:$init_values,
                       DenseI64ArrayAttr:$window_dimensions, OptionalAttr<DenseI64ArrayAttr>:$window_strides,
                       OptionalAttr<DenseI64ArrayAttr>:$base_dilations, OptionalAttr<DenseI64ArrayAttr>:$window_dilations,
                       OptionalAttr<I64ElementsAttr>:$padding);
  let results = (outs Variadic<AnyRankedTensor>:$outputs);
  let regions = (region SizedRegion<1>:$body);
}

def Stablehlo_SelectAndScatterOp : Stablehlo_OneResultOp<"select_and_scatter"> {
  let arguments = (ins AnyRankedTensor:$operand, AnyRankedTensor:$source, AnyRankedTensor:$init_value,
                       OptionalAttr<DenseI64ArrayAttr>:$window_dimensions, OptionalAttr<DenseI64ArrayAttr>:$window_strides,
                       OptionalAttr<I64ElementsAttr>:$padding);
  let regions = (region SizedRegion<1>:$select, SizedRegion<1>:$scatter);
}

def Stablehlo_SortOp : Stablehlo_Op<"sort"> {
  let arguments = (ins Variadic<AnyRankedTensor>:$inputs, DefaultValuedAttr<I64Attr, "-1">:$dimension,
                       DefaultValuedAttr<BoolAttr, "false">:$is_stable);
  let results = (outs Variadic<AnyRankedTensor>:$outputs);
  let regions = (region SizedRegion<1>:$comparator);
}

def Stablehlo_RngBitGeneratorOp : Stablehlo_Op<"rng_bit_generator"> {
  let arguments = (ins AnyRankedTensor:$initial_state, Stablehlo_RngAlgorithmAttr:$rng_algorithm);
  let results = (outs AnyRankedTensor:$output_state, AnyRankedTensor:$output);
  let assemblyFormat = [{
    $initial_state `,` `algorithm` `=` custom<Keyword>($rng_algorithm) attr-dict `:` functional-type(operands, results)
  }];
}

//===- Control ------------------------------------------------------------===//

def Stablehlo_ReturnOp : Stablehlo_Op<"return", [Terminator]> {
  let arguments = (ins Variadic<AnyRankedTensor>:$values);
  let assemblyFormat = "$values attr-dict (`:` type($values)^)?";
}

def Stablehlo_WhileOp : Stablehlo_Op<"while"> {
  let arguments = (ins Variadic<AnyRankedTensor>:$initials);
  let results = (outs Variadic<AnyRankedTensor>:$outputs);
  let regions = (region SizedRegion<1>:$cond, SizedRegion<1>:$body);
  let hasCustomAssemblyFormat = 1;
}

def Stablehlo_IfOp : Stablehlo_Op<"if"> {
  let arguments = (ins AnyRankedTensor:$pred);
  let results = (outs Variadic<AnyRankedTensor>:$outputs);
  let regions = (region SizedRegion<1>:$true_branch, SizedRegion<1>:$false_branch);
}

def Stablehlo_CaseOp : Stablehlo_Op<"case"> {
  let arguments = (ins AnyRankedTensor:$index);
  let results = (outs Variadic<AnyRankedTensor>:$outputs);
  let regions = (region VariadicRegion<SizedRegion<1>>:$branches);
}

def Stablehlo_OptimizationBarrierOp : Stablehlo_Op<"optimization_barrier"> {
  let arguments = (ins Variadic<AnyRankedTensor>:$inputs);
  let results = (outs Variadic<AnyRankedTensor>:$outputs);
  let assemblyFormat = "attr-dict ($inputs^ `:` custom<PairwiseTypes>(type($inputs), type($outputs)))?";
}

def Stablehlo_CompositeOp : Stablehlo_Op<"composite"> {
  let arguments = (ins Variadic<AnyRankedTensor>:$inputs, StrAttr:$name, OptionalAttr<DictionaryAttr>:$composite_attributes,
                       FlatSymbolRefAttr:$decomposition, OptionalAttr<I32Attr>:$version);
  let results = (outs Variadic<AnyRankedTensor>:$outputs);
  let assemblyFormat = "$name $inputs attr-dict `:` functional-type(operands, results)";
}

/// It is read, so that a message can name it; it has no translation.
def Stablehlo_FftOp : Stablehlo_OneResultOp<"fft"> {
  let arguments = (ins AnyRankedTensor:$operand, Stablehlo_FftTypeAttr:$fft_type, DenseI64ArrayAttr:$fft_length);
  let assemblyFormat = [{
    $operand `,` `type` `=` custom<Keyword>($fft_type) `,` `length` `=` $fft_length attr-dict `:`
    functional-type(operands, results)
  }];
}
def Stablehlo_CholeskyOp : Stablehlo_OneResultOp<"cholesky"> {
  let arguments = (ins AnyRankedTensor:$a, BoolAttr:$lower);
  let assemblyFormat = "$a `,` `lower` `=` $lower attr-dict `:` custom<SameTypes>(type($a), type($result))";
}
def Stablehlo_TriangularSolveOp : Stablehlo_OneResultOp<"triangular_solve"> {
  let arguments = (ins AnyRankedTensor:$a, AnyRankedTensor:$b, BoolAttr:$left_side, BoolAttr:$lower,
                       BoolAttr:$unit_diagonal, Stablehlo_TransposeAttr:$transpose_a);
}

def Stablehlo_CustomCallOp : Stablehlo_Op<"custom_call"> {
  let arguments = (ins Variadic<AnyType>:$inputs, StrAttr:$call_target_name);
  let results = (outs Variadic<AnyType>:$outputs);
  let assemblyFormat = "custom<CallTarget>($call_target_name) `(` $inputs `)` attr-dict `:` functional-type(operands, results)";
}

//===- Devices ------------------------------------------------------------===//

def Stablehlo_PartitionIdOp : Stablehlo_NullaryOp<"partition_id">;
def Stablehlo_ReplicaIdOp : Stablehlo_NullaryOp<"replica_id">;

/// `replica_groups` lists the numbers of the devices of each group.
class Stablehlo_CollectiveOp<string mnemonic, dag more> : Stablehlo_Op<mnemonic> {
  let arguments = !con((ins Variadic<AnyRankedTensor>:$operands, I64ElementsAttr:$replica_groups,
                            OptionalAttr<Stablehlo_ChannelHandleAttr>:$channel_handle), more);
  let results = (outs Variadic<AnyRankedTensor>:$outputs);
}

def Stablehlo_AllGatherOp : Stablehlo_CollectiveOp<"all_gather", (ins I64Attr:$all_gather_dim,
                                                                      UnitAttr:$use_global_device_ids)>;
def Stablehlo_AllReduceOp : Stablehlo_CollectiveOp<"all_reduce", (ins UnitAttr:$use_global_device_ids)> {
  let regions = (region SizedRegion<1>:$computation);
}
def Stablehlo_CollectiveReduceOp : Stablehlo_CollectiveOp<"collective_reduce", (ins UnitAttr:$use_global_device_ids)> {
  let regions = (region SizedRegion<1>:$computation);
}
/// With `has_dynamic_root` the last operand has the positions of the devices that send.
def Stablehlo_CollectiveBroadcastOp : Stablehlo_CollectiveOp<"collective_broadcast", (ins UnitAttr:$has_dynamic_root)>;
def Stablehlo_ReduceScatterOp : Stablehlo_CollectiveOp<"reduce_scatter", (ins I64Attr:$scatter_dimension,
                                                                              UnitAttr:$use_global_device_ids)> {
  let regions = (region SizedRegion<1>:$computation);
}
def Stablehlo_AllToAllOp : Stablehlo_CollectiveOp<"all_to_all", (ins I64Attr:$split_dimension, I64Attr:$concat_dimension,
                                                                     I64Attr:$split_count)>;
def Stablehlo_CollectivePermuteOp : Stablehlo_OneResultOp<"collective_permute"> {
  let arguments = (ins AnyRankedTensor:$operand, I64ElementsAttr:$source_target_pairs,
                       OptionalAttr<Stablehlo_ChannelHandleAttr>:$channel_handle);
}

#endif
