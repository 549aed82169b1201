//===- OpInterfaces.td - interfaces of all operations ------*- tablegen -*-===//
//
// An operation is defined by its ODS entry, which implements these interfaces: stages call them instead of switching
// over operation names. Exceptions, which name operations (docs/add-operation.md): ir/array/ElementTypes.cpp;
// passes/kernel/IndexMaps.cpp, DecomposeReductions.cpp and LowerLibraryCalls.cpp, for operations that are not
// element-wise; passes/kernel/OpCost.cpp and passes/gpu/KernelWeight.cpp, which estimate times (of functions by the
// traits MathFunction and Division); passes/simplify/SplitAttributes.cpp, which rewrites attributes.
//
//===----------------------------------------------------------------------===//

#ifndef SPMDC_OP_INTERFACES
#define SPMDC_OP_INTERFACES

include "mlir/IR/OpBase.td"

def ShardingRuleOpInterface : OpInterface<"ShardingRuleOpInterface"> {
  let description = [{
    How the operation connects the dimensions of its operands and results, and the properties that the partitioner needs
    to run it on a shard of its iteration space.
  }];
  let cppNamespace = "::spmdc";
  let methods = [
    InterfaceMethod<"The factors of the operation; see ShardingRule.h.",
      "::spmdc::ShardingRule", "getShardingRule">,
    InterfaceMethod<[{
        How partial results over reduction factors are combined.
      }], "::spmdc::ReductionKind", "getReductionKind", (ins), "",
      [{ return ::spmdc::ReductionKind::sum; }]>,
    InterfaceMethod<[{
        The value that padding of the operand must have if one of its reduction factors is sharded unevenly, so that it
        does not change the result. Null: padding there needs no value.
      }], "::mlir::TypedAttr", "getPaddingValue", (ins "unsigned":$operand), "", [{ return {}; }]>,
    InterfaceMethod<[{
        True for an accumulator: the operand to which the operation adds (operand 0 of scatter_add). If the result is a
        partial sum (reduction factors are sharded), this operand must be a partial sum over the same axes.
      }], "bool", "isAddedTo", (ins "unsigned":$operand), "", [{ return false; }]>,
    InterfaceMethod<[{
        For an operation that only moves elements: the moves. Such an operation runs under any shardings of operands and
        result, by one exchange for each part.
      }], "::spmdc::ArrayMoves", "getMoves", (ins), "", [{ return {}; }]>,
    InterfaceMethod<[{
        Whether the operation reads only some elements of its first operand, at most as many as its result has: slice,
        dynamic_slice, take, take_along.
      }], "bool", "readsPartOfFirstOperand", (ins), "", [{ return false; }]>,
    InterfaceMethod<[{
        For an operation that changes some elements of its first operand, in place where it can: the number of the
        operand that it writes to these elements, or adds to them.
      }], "::std::optional<unsigned>", "getUpdateOperandNumber", (ins), "", [{ return ::std::nullopt; }]>,
    InterfaceMethod<[{
        The bytes that each device sends to combine shards, if Combined factors are sharded over groups of `group`
        devices. `localResult` is the per-device type of the result.
      }], "double", "getCombiningBytes", (ins "int64_t":$group, "::spmdc::ArrayType":$localResult), "",
      [{ return 0; }]>,
    InterfaceMethod<[{
        Builds the local operation of one device. `operands` are local; `globalResult` is the type of the result with
        the sharding of the local result, `localResult` its per-device type. The default is a copy of the operation
        with local types, which is right if no attribute contains sizes or positions.
      }], "::mlir::Value", "createLocal",
      (ins "::mlir::OpBuilder &":$builder, "::mlir::ValueRange":$operands, "::spmdc::ArrayType":$globalResult,
           "::spmdc::ArrayType":$localResult), "",
      [{ return ::spmdc::cloneWithLocalTypes(builder, $_op.getOperation(), operands, localResult); }]>,
  ];
}

def LinearOpInterface : OpInterface<"LinearOpInterface"> {
  let description = [{
    The operation is linear in some of its operands: f(x + y) = f(x) + f(y), for all numbers that may occur. A reduction
    of partial sums before such an operation can be moved after it (passes/reductions).
  }];
  let cppNamespace = "::spmdc";
  let methods = [
    InterfaceMethod<[{
        The numbers of the operands in which the operation is linear. `mayBePartial` tells which values may be partial
        sums: a product is linear in one operand if the other operand cannot be a partial sum.
      }], "::llvm::SmallVector<unsigned>", "getLinearOperands",
      (ins "::llvm::function_ref<bool(::mlir::Value)>":$mayBePartial), "", [{ return {0}; }]>,
  ];
}

/// LinearOpInterface with a getLinearOperands of the operation's own. An operation with LinearOpInterface alone is
/// linear in operand 0.
defvar withLinearOperands = DeclareOpInterfaceMethods<LinearOpInterface, ["getLinearOperands"]>;

/// Computed by a polynomial or a call, which takes about 15 times as long as an addition (passes/kernel/OpCost.cpp).
def MathFunction : NativeOpTrait<"MathFunction"> { let cppNamespace = "::spmdc"; }
/// A quotient or a remainder: takes about four times as long as an addition, and stops the program where an integer is
/// divided by zero.
def Division : NativeOpTrait<"Division"> { let cppNamespace = "::spmdc"; }
/// In half precision the result is one of the operands or needs no rounding, so that computing in f32 changes nothing.
def ExactInHalf : NativeOpTrait<"ExactInHalf"> { let cppNamespace = "::spmdc"; }

def ElementwiseOpInterface : OpInterface<"ElementwiseOpInterface"> {
  let description = [{
    Result element i depends on element i of each operand alone. All operands and the result have one shape (`select`
    and `clamp` included: scalars are broadcast before).
  }];
  let cppNamespace = "::spmdc";
  let methods = [
    InterfaceMethod<[{
        One result element from one element of each operand, in reference precision; the caller rounds it to the
        result's element type.
      }], "::spmdc::Scalar", "evaluateScalar", (ins "::llvm::ArrayRef<::spmdc::Scalar>":$operands)>,
    InterfaceMethod<[{
        Emits the scalar (or vector) computation of one element. Integers are signless there; the signedness is that of
        the operation's element types. The caller widens bf16 and f16 operands to f32 and rounds the result.
      }], "::mlir::Value", "emitScalar",
      (ins "::mlir::OpBuilder &":$builder, "::mlir::Location":$loc, "::mlir::ValueRange":$operands)>,
  ];
}

def EvaluateOpInterface : OpInterface<"EvaluateOpInterface"> {
  let description = "Reference evaluation of operations that are not element-wise.";
  let cppNamespace = "::spmdc";
  let methods = [
    InterfaceMethod<"The result for these operands, by the definition of the operation, without optimizations.",
      "::spmdc::Tensor", "evaluate", (ins "::llvm::ArrayRef<::spmdc::Tensor>":$operands)>,
  ];
}

def DifferentiableOpInterface : OpInterface<"DifferentiableOpInterface"> {
  let description = [{
    Reverse-mode derivative of an operation with one result. An operation whose derivative is zero everywhere (or that
    has no floats) has the trait ZeroDerivative instead; one with neither stops differentiation with an error.
  }];
  let cppNamespace = "::spmdc";
  let methods = [
    InterfaceMethod<[{
        Builds the cotangents of the operands from that of the result: the derivative's transpose, applied. Values of
        the forward pass are used, not computed again. `isNeeded` says for each operand whether the caller needs its
        cotangent (never for integers). The result has one entry for each operand, null if it is not needed or is zero.
        An empty result says that the operation, with these attributes, has no derivative.
        A cotangent has the type of its value, without a sharding. Built operations are differentiable themselves. For a
        collective, assume that the operand varies over the collective's axes. The cotangent does not vary over an axis
        over which the result does not vary (VaryingAxes.h).
      }], "::llvm::SmallVector<::mlir::Value>", "buildCotangents",
      (ins "::mlir::OpBuilder &":$builder, "::mlir::Location":$loc, "::mlir::Value":$cotangent,
           "::llvm::ArrayRef<bool>":$isNeeded)>,
  ];
}

/// The operation has no cotangent: steps, comparisons, bits, indices, operations without operands.
def ZeroDerivative : NativeOpTrait<"ZeroDerivative"> { let cppNamespace = "::spmdc"; }

def CollectiveOpInterface : OpInterface<"CollectiveOpInterface"> {
  let description = "An operation that the devices of a group run together.";
  let cppNamespace = "::spmdc";
  let methods = [
    InterfaceMethod<"The axes over which the group extends.", "::spmdc::AxesAttr", "getGroupAxes", (ins), "",
      [{ return $_op.getAxes(); }]>,
    InterfaceMethod<[{
        Bytes that one device sends, for a bandwidth-optimal algorithm, averaged over the devices where they differ;
        0 for a collective that only slices locally (all_slice).
      }], "double", "getWireBytes", (ins "::spmdc::MeshAttr":$mesh)>,
  ];
}

#endif
