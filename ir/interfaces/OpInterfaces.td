//===- OpInterfaces.td - what every operation says of itself --*- tablegen -*-===//
//
// One operation is one place: its ODS entry implements these interfaces, and every stage asks them instead of
// switching over operation names.
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
        The value that padding of the operand must hold where one of its reduction factors is cut unevenly, so that it
        does not change the result. Null: padding there needs no value.
      }], "::mlir::TypedAttr", "getPaddingValue", (ins "unsigned":$operand), "", [{ return {}; }]>,
    InterfaceMethod<[{
        Whether the operation adds to this operand what it sums up. Where that are partial sums (reduction factors are
        cut), the operand is to be a partial sum over the same axes.
      }], "bool", "isAddedTo", (ins "unsigned":$operand), "", [{ return false; }]>,
    InterfaceMethod<[{
        For an operation that only moves elements: what its result is made of. Such an operation runs under any
        shardings of operands and result, by one exchange for each part.
      }], "::spmdc::ArrayMoves", "getMoves", (ins), "", [{ return {}; }]>,
    InterfaceMethod<[{
        Whether the operation reads no more elements of its first operand than its result has: a slice, a lookup.
      }], "bool", "readsRange", (ins), "", [{ return false; }]>,
    InterfaceMethod<[{
        For an operation that changes some places of its first operand, in place where it can: the number of the operand
        whose elements it writes or adds there.
      }], "::std::optional<unsigned>", "getUpdateOperandNumber", (ins), "", [{ return ::std::nullopt; }]>,
    InterfaceMethod<[{
        Bytes that each device sends to combine parts, where Combined factors are cut over groups of `group` devices.
      }], "double", "getCombiningBytes", (ins "int64_t":$group, "::spmdc::ArrayType":$localResult), "",
      [{ return 0; }]>,
    InterfaceMethod<[{
        Builds the operation on one device's parts. `operands` are local; `globalResult` is the type of the result
        with the sharding that the parts have, `localResult` its per-device type. The default is a copy of the
        operation with local types, right where no attribute speaks of sizes or positions.
      }], "::mlir::Value", "createLocal",
      (ins "::mlir::OpBuilder &":$builder, "::mlir::ValueRange":$operands, "::spmdc::ArrayType":$globalResult,
           "::spmdc::ArrayType":$localResult), "",
      [{ return ::spmdc::cloneWithLocalTypes(builder, $_op.getOperation(), operands, localResult); }]>,
  ];
}

def LinearOpInterface : OpInterface<"LinearOpInterface"> {
  let description = [{
    The operation is linear in some of its operands: f(x + y) = f(x) + f(y), for all numbers that may occur. A reduction
    of partial sums can be moved from in front of such an operation to behind it (passes/reductions).
  }];
  let cppNamespace = "::spmdc";
  let methods = [
    InterfaceMethod<[{
        The numbers of the operands in which the operation is linear. `mayBePartial` tells which values may be partial
        sums: a product is linear in one operand where the other one is none.
      }], "::llvm::SmallVector<unsigned>", "getLinearOperands",
      (ins "::llvm::function_ref<bool(::mlir::Value)>":$mayBePartial), "", [{ return {0}; }]>,
  ];
}

/// For an operation that says itself in which operands it is linear; LinearOpInterface alone is for the first one.
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
        Emits the scalar (or vector) computation of one element. Integers are signless there; signedness is taken from
        the operation's own element types. bf16 and f16 operands are widened to f32 by the caller, who also rounds the
        result: the emitted code sees f32.
      }], "::mlir::Value", "emitScalar",
      (ins "::mlir::OpBuilder &":$builder, "::mlir::Location":$loc, "::mlir::ValueRange":$operands)>,
  ];
}

def EvaluateOpInterface : OpInterface<"EvaluateOpInterface"> {
  let description = "Reference evaluation of operations that are not element-wise.";
  let cppNamespace = "::spmdc";
  let methods = [
    InterfaceMethod<"The result for these operands, by the definition of the operation and nothing faster.",
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
        the forward pass are used, not computed again. `isNeeded` tells for each operand whether its cotangent is asked
        for (never for integers); the answer has one entry for each operand, null for what is not needed or is zero; no
        entries at all say that the operation, with these attributes, has no derivative.
        A cotangent has the type of its value, without a sharding. Built operations are differentiable themselves.
        A collective takes its operand to vary over its axes, and the cotangent as one that does not vary over those
        that its result does not vary over (VaryingAxes.h).
      }], "::llvm::SmallVector<::mlir::Value>", "buildCotangents",
      (ins "::mlir::OpBuilder &":$builder, "::mlir::Location":$loc, "::mlir::Value":$cotangent,
           "::llvm::ArrayRef<bool>":$isNeeded)>,
  ];
}

/// Nothing flows back through the operation: steps, comparisons, bits, indices, what is made from nothing.
def ZeroDerivative : NativeOpTrait<"ZeroDerivative"> { let cppNamespace = "::spmdc"; }

def CollectiveOpInterface : OpInterface<"CollectiveOpInterface"> {
  let description = "An operation in which devices of a group take part together.";
  let cppNamespace = "::spmdc";
  let methods = [
    InterfaceMethod<"The axes over which the group extends.", "::spmdc::AxesAttr", "getGroupAxes", (ins), "",
      [{ return $_op.getAxes(); }]>,
    InterfaceMethod<[{
        Bytes that one device sends, for a bandwidth-optimal algorithm, averaged over the devices where they differ;
        0 for a step that only slices locally.
      }], "double", "getWireBytes", (ins "::spmdc::MeshAttr":$mesh)>,
  ];
}

#endif
