//===- FlatExtremes.h - where the extreme element of a whole array is -*- C++ -*-===//
//
// argmax(x) counts all elements of an array in row-major order, as one dimension. Where a minor dimension is cut, that
// one dimension cannot be: a device's elements are no run of it. But the first of the largest elements is in the first
// row in which there are any, and in that row the first. So along one dimension after the other, the last first, it is
// known where the extremes of what is left are, and which; then each dimension's position is looked up at those before
// it.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "ir/array/ArrayOps.h"

namespace spmdc {

/// Does so where the operation looks for an extreme element of a reshape that is one dimension, of an array that is cut
/// along another dimension than its first.
void splitFlatExtreme(ArgReduceOp op);

} // namespace spmdc
