//===- PartialSums.h - operations that make partial sums --------*- C++ -*-===//
#pragma once

#include "ir/array/ArrayOps.h"
#include "ir/spmd/ReducePrecision.h"

namespace spmdc {

/// Whether partial results of the operation are sums or products of several elements, which their element type may not
/// hold: those of 16-bit floats are kept in a wider one until they are combined. Of a `take` one device has the element
/// and the others zeros, and nothing is rounded.
bool combinesElements(mlir::Operation *op);

/// The operand of the innermost of the broadcasts that make the value; the value itself where none does.
mlir::Value getBroadcastSource(mlir::Value value);

/// Whether all elements of the value are one number: a splat, or a scalar that is broadcast.
bool isUniform(mlir::Value value);

/// The value with this element type; itself where it has it.
mlir::Value convertTo(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value value, mlir::Type elementType);

/// The zeros of a constant (Rematerialization.h: isZero), of their sign, under another type.
mlir::Value makeZeros(mlir::OpBuilder &builder, mlir::Value zero, ArrayType type);

} // namespace spmdc
