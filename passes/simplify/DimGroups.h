//===- DimGroups.h - dimensions that are one dimension ----------*- C++ -*-===//
//
// An operation connects dimensions of its operands with dimensions of its results: the rows of a product are rows of
// its left operand, the contracted columns of that operand are rows of the right one. Where such dimensions are each
// exactly one factor of the sharding rule, and the operation does nothing else to the factor than to compute for each
// index or to reduce over all of them, the factor can be written as several: the rows as batch and sequence, everywhere
// at once. DimGroup is the set of dimensions that one operation connects so; UnmergedDims follows groups from operation
// to operation.
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

/// A dimension of a value where it is computed.
struct DimOfValue {
  mlir::Value value;
  int64_t dim;
};

/// A dimension of a value where an operation reads it.
struct DimOfUse {
  mlir::OpOperand *use;
  int64_t dim;
};

struct DimGroup {
  llvm::SmallVector<DimOfValue, 2> values;
  llvm::SmallVector<DimOfUse, 2> uses;
  /// A reshape that makes the dimension of others, or others of it: the group goes no further.
  bool isEnd = false;
};

/// The dimensions that the operation which computes the value connects with this one. None for arguments of functions
/// and of manual regions, for values whose sharding is written or grouped along the dimension, and where the operation
/// treats indices of the dimension differently from one another (slices of it, sorts, lookups along it).
std::optional<DimGroup> getGroup(DimOfValue dim);

/// The dimensions that the operation which reads the value connects with this one.
std::optional<DimGroup> getGroup(DimOfUse dim);

} // namespace spmdc
