//===- BeforeReshape.h - values before a reshape ----------------*- C++ -*-===//
//
// A reshape changes no element, so element-wise operations after it can be computed before it: for abs(reshape(x)) the
// value before the reshape is abs(x). An operation that needs the elements in any shape can use that value, for which
// devices exchange no elements.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "ir/array/ArrayOps.h"

namespace spmdc {

/// A reshape from which the array is computed by element-wise operations alone, together with constants and reshapes
/// from arrays of the same type; null if there is none, or if an operation between has an annotation.
ReshapeOp findReshape(mlir::Value value);

/// Whether the array can be computed from operands of type `before` of reshapes, constants and element-wise operations.
bool canBuildBefore(mlir::Value value, ArrayType before);

/// Builds that computation; the result has the shape and sharding of `before`.
mlir::Value buildBefore(mlir::OpBuilder &builder, mlir::Value value, ArrayType before);

/// Erases the operations inside `root` that have no uses and no effects.
void eraseDeadOps(mlir::Operation *root);

} // namespace spmdc
