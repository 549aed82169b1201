//===- SharedPads.h - one padded array for many slices ----------*- C++ -*-===//
#pragma once

#include "ir/array/ArrayOps.h"

namespace spmdc {

/// A slice of a padded array was made a pad of its own (ir/array/MovementPatterns.cpp), so that partitioning sees what
/// moves. If the operands of a concatenation are such pads and slices of one array, returns a concatenation of slices
/// of one padded array, which a product can read where they are (StridedViews.h); the array and itself with a halo
/// count as one. Null, and nothing is changed, if they are not, or if no operand is padded.
mlir::Value sharePad(ConcatenateOp op);

} // namespace spmdc
