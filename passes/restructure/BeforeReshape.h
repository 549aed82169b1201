//===- BeforeReshape.h - an array as it is before a reshape -----*- C++ -*-===//
//
// A reshape changes no element, so what is computed of each element by itself can be computed in front of it: of
// abs(reshape(x)), the array before the reshape is abs(x). Who wants to know the elements of a reshape's result, but
// can do with another shape, looks there, where no device needs another's elements for it.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "ir/array/ArrayOps.h"

namespace spmdc {

/// The reshape that an array is the result of, or is computed of element by element, with others like it and constants
/// perhaps; null where there is none, or where a person has said how anything between lies.
ReshapeOp findReshape(mlir::Value value);

/// Whether the array can be made of what is in front of reshapes of such arrays to its own shape.
bool isThereBefore(mlir::Value value, ArrayType before);

/// Makes that.
mlir::Value buildBefore(mlir::OpBuilder &builder, mlir::Value value, ArrayType before);

/// Removes operations that nobody uses any more.
void eraseUnused(mlir::Operation *root);

} // namespace spmdc
