//===- BeforeReshape.h - values in front of a reshape -----------*- C++ -*-===//
//
// A reshape changes no element, so element-wise operations behind it can be computed in front of it: for
// abs(reshape(x)) the value in front of the reshape is abs(x). An operation that needs the elements in any shape can
// use that value, for which devices exchange no elements.
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

/// Erases operations without uses.
void eraseUnused(mlir::Operation *root);

} // namespace spmdc
