//===- ConcatenatedSlices.h - consecutive slices of one array ---*- C++ -*-===//
//
// A program that builds a halo, rolls an array or repeats it concatenates slices of the array, and the array itself:
//
//   concatenate([u[-2:], u, u[:2]])    u[n-2] u[n-1] | u[0] ... u[n-1] | u[0] u[1]
//
// Each slice begins where the one before it ends, if the array's first element follows its last one. Together they are
// one move that wraps, and take one exchange.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "ir/array/ArrayOps.h"

#include <optional>

namespace spmdc {

/// A concatenation of consecutive slices of one array, as one move.
struct ConcatenatedSlices {
  ArrayMove move;                              ///< From the array to the concatenation; wraps if necessary.
  llvm::SmallVector<mlir::Operation *> slices; ///< Slices of the array, which the concatenation no longer needs.
};

/// The single move from one array to the concatenation `op`, looking through slices of the array; nothing for any other
/// operation, or if the parts are not consecutive in the array.
std::optional<ConcatenatedSlices> matchConcatenatedSlices(mlir::Operation *op);

/// The same for moves of values to consecutive positions along a dimension of one result.
std::optional<ConcatenatedSlices> matchConcatenatedSlices(llvm::ArrayRef<ArrayMove> parts, int64_t dim);

} // namespace spmdc
