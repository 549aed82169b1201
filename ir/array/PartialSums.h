//===- PartialSums.h - operations that leave partial sums -------*- C++ -*-===//
#pragma once

#include "ir/array/ArrayOps.h"
#include "ir/spmd/ReducePrecision.h"

namespace spmdc {

/// True if a partial result sums or multiplies several elements. Partial sums of 16-bit floats are f32 then
/// (ReducePrecision.h). False for a `take`: one device has the element and the others have zeros, so nothing is
/// rounded.
bool combinesElements(mlir::Operation *op);

/// The operand of the innermost of the broadcasts that make the value; the value itself where none does.
mlir::Value getBroadcastSource(mlir::Value value);

/// Whether all elements of the value are one number: a splat, or a scalar that is broadcast.
bool isUniform(mlir::Value value);

/// The value with this element type; the value itself if it has that type.
mlir::Value convertTo(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value value, mlir::Type elementType);

/// Zeros of the sign of the constant `zero` (Rematerialization.h: isZero), in another type.
mlir::Value makeZeros(mlir::OpBuilder &builder, mlir::Value zero, ArrayType type);

} // namespace spmdc
