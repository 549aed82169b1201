//===- ReducePrecision.h - the element type of partial sums -----*- C++ -*-===//
#pragma once

#include "ir/spmd/SpmdTypes.h"

#include "mlir/IR/Operation.h"

namespace spmdc {

/// A module attribute (a TypeAttr) that names a 16-bit float type: partial sums of that type are rounded to it before
/// they are reduced (`--reduce-precision`). Without it they are f32.
inline constexpr llvm::StringLiteral kReducePrecisionAttrName = "spmd.reduce_precision";

/// Attribute of a collective whose operand keeps its element type, since the user chose it.
inline constexpr llvm::StringLiteral kKeepsPrecisionAttrName = "spmd.keeps_precision";

/// Sets the attribute of a module; for f32, removes it.
void setReducePrecision(mlir::Operation *module, spmd::DType dtype);

/// Whether the type is bf16 or f16, which is accumulated in f32.
inline bool isHalfFloat(mlir::Type type) {
  return llvm::isa<mlir::FloatType>(type) && type.getIntOrFloatBitWidth() == 16;
}

/// The element type in which devices hold and send partial sums of values of an element type: f32 for bf16 and f16,
/// unless the module around `op` names that type; other types are unchanged. f32, because each device would otherwise
/// round its partial sum: if the partial sums of two devices cancel, only the rounding errors remain.
mlir::Type getPartialSumType(mlir::Operation *op, mlir::Type elementType);

/// The same array with that element type.
inline ArrayType withPartialSums(mlir::Operation *op, ArrayType type) {
  return type.withElementType(getPartialSumType(op, type.getElementType()));
}

/// True if an array of `elementType` may have partial sums of the type `partial`: the types are equal, or `partial` is
/// f32 and `elementType` is a 16-bit float.
bool mayHoldPartialSums(ArrayType partial, mlir::Type elementType);

} // namespace spmdc
