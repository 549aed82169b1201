//===- Verification.h - common checks of array operations -------*- C++ -*-===//
#pragma once

#include "ir/array/ArrayOps.h"

namespace spmdc {

/// Verifies that the only result of `op` has this shape and element type.
mlir::LogicalResult verifyResult(mlir::Operation *op, llvm::ArrayRef<int64_t> shape, mlir::Type elementType);

/// Verifies that the first result is an array of positions along a dimension of `size` elements, in a type that holds
/// them.
mlir::LogicalResult verifyPositions(mlir::Operation *op, int64_t size);

/// Verifies that `dims` are different dimensions of an array of this rank; `what` names them in messages.
mlir::LogicalResult verifyDims(mlir::Operation *op, llvm::ArrayRef<int64_t> dims, int64_t rank, llvm::StringRef what);

/// Verifies that an element-wise operation supports the element types of its operands, and that its result has the
/// matching one.
mlir::LogicalResult verifyElementTypes(mlir::Operation *op);

} // namespace spmdc
