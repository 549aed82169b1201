//===- DimGroups.h - dimensions that must have one shape --------*- C++ -*-===//
//
// An operation connects dimensions of its operands with dimensions of its results: the rows of a product are rows of
// its left operand, the contracted columns of that operand are rows of the right one. If each such dimension is exactly
// one factor of the sharding rule, and the operation only maps over the factor or reduces it, the factor can become
// several factors in all of them: the rows become batch and sequence. A DimGroup is the set of dimensions that one
// operation connects like this; DimSplitter follows groups from operation to operation.
//
//     %1 = dot_general %0, %w contract [1] x [0] : <f32[24, 8]>, <f32[8, 5]> -> <f32[24, 5]>
//
//     group of dimension 0 of %1: itself, and dimension 0 of the use of %0
//     with 24 = 4 * 6 in that group: <f32[4, 6, 8]>, <f32[8, 5]> -> <f32[4, 6, 5]>
//
//===----------------------------------------------------------------------===//
#pragma once

#include "ir/array/ArrayOps.h"

#include <optional>

namespace spmdc {

/// A dimension of a value at its definition.
struct DimOfValue {
  mlir::Value value;
  int64_t dim;
};

/// A dimension of a value at a use.
struct DimOfUse {
  mlir::OpOperand *use;
  int64_t dim;
};

/// The dimensions that one operation connects.
struct DimGroup {
  llvm::SmallVector<DimOfValue, 2> values;
  llvm::SmallVector<DimOfUse, 2> uses;
  /// Set at a reshape that merges the dimension with others, or splits it: the group ends there.
  bool isEnd = false;
};

/// The dimensions that the operation that defines the value connects with this one. Nothing for arguments of functions
/// and of manual regions, for values with an annotation or a sharding group along the dimension, and if the operation
/// treats indices of the dimension differently (slices, sorts, lookups).
std::optional<DimGroup> getGroup(DimOfValue dim);

/// The dimensions that the operation that uses the value connects with this one.
std::optional<DimGroup> getGroup(DimOfUse dim);

} // namespace spmdc
