//===- ReducePrecision.h - the element type of partial sums -----*- C++ -*-===//
#pragma once

#include "ir/spmd/SpmdTypes.h"

#include "mlir/IR/Operation.h"

namespace spmdc {

/// The attribute of a module (a TypeAttr) that names a 16-bit float: partial sums of it are rounded to it before they
/// are reduced (`--reduce-precision`). Without it they are f32.
inline constexpr llvm::StringLiteral kReducePrecisionAttrName = "spmd.reduce_precision";

/// The attribute of a collective that adds up what it is given as it is: its user has said in what type.
inline constexpr llvm::StringLiteral kKeepsPrecisionAttrName = "spmd.keeps_precision";

/// Notes the type on a module; f32 leaves no trace.
void setReducePrecision(mlir::Operation *module, spmd::DType dtype);

/// Whether the type is bf16 or f16, which is accumulated in f32.
inline bool isHalfFloat(mlir::Type type) {
  return llvm::isa<mlir::FloatType>(type) && type.getIntOrFloatBitWidth() == 16;
}

/// The element type in which devices hold and send their partial sums of values of an element type: f32 for bf16 and
/// f16, except for the one that the module around `op` names; for any other type that type. Each device would round its
/// partial sum otherwise, and where those of two devices cancel, the roundings are all that is left.
mlir::Type getPartialSumType(mlir::Operation *op, mlir::Type elementType);

/// The same array with that element type.
inline ArrayType withPartialSums(mlir::Operation *op, ArrayType type) {
  return type.withElementType(getPartialSumType(op, type.getElementType()));
}

/// Whether partial sums of one element type may be those of an array of another: it is the same, or f32 holds what a
/// 16-bit float rounds.
bool mayHoldPartialSums(ArrayType partial, mlir::Type elementType);

} // namespace spmdc
