//===- Verification.h - what verifiers of array operations share -*- C++ -*-===//
#pragma once

#include "ir/array/ArrayOps.h"

namespace spmdc {

/// The only result of `op` has this shape and element type.
mlir::LogicalResult verifyResult(mlir::Operation *op, llvm::ArrayRef<int64_t> shape, mlir::Type elementType);

/// The first result is an array of positions along a dimension of `size` elements, in a type that holds them.
mlir::LogicalResult verifyPositions(mlir::Operation *op, int64_t size);

/// `dims` are different dimensions of an array of this rank; `what` names them in messages.
mlir::LogicalResult verifyDims(mlir::Operation *op, llvm::ArrayRef<int64_t> dims, int64_t rank, llvm::StringRef what);

/// An element-wise operation takes the element types of its operands, and its result has the one that follows.
mlir::LogicalResult verifyElementTypes(mlir::Operation *op);

} // namespace spmdc
