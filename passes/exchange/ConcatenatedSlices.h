//===- ConcatenatedSlices.h - parts of one array that follow one another -*- C++ -*-===//
//
// A program that makes a halo, rolls an array or repeats it concatenates slices of the array, and the array itself:
//
//   concatenate([u[-2:], u, u[:2]])    u[n-2] u[n-1] | u[0] ... u[n-1] | u[0] u[1]
//
// Each slice goes on where the one before it ends, if the array's first element is taken to follow its last. Together
// they are one move of the array that wraps, and take one exchange.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "ir/array/ArrayOps.h"

#include <optional>

namespace spmdc {

struct ConcatenatedSlices {
  ArrayMove move;                              ///< From the array to the concatenation; wraps where it has to.
  llvm::SmallVector<mlir::Operation *> slices; ///< Of the array, which the concatenation does without then.
};

/// What a concatenation makes of one array by one move, slices of the array being looked through; none for any other
/// operation, and where parts do not follow one another in the array.
std::optional<ConcatenatedSlices> matchConcatenatedSlices(mlir::Operation *op);

/// The same for moves of values to places that follow one another along a dimension of one result.
std::optional<ConcatenatedSlices> matchConcatenatedSlices(llvm::ArrayRef<ArrayMove> parts, int64_t dim);

} // namespace spmdc
