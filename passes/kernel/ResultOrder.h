//===- ResultOrder.h - the order of a product's dimensions ------*- C++ -*-===//
#pragma once

#include "ir/array/ArrayOps.h"

namespace spmdc {

/// Makes one transpose of those that follow one another behind a product; none, if they undo one another.
void mergeTransposes(DotGeneralOp product);

/// Lets a product of weights (StreamedProducts.h) have an order of dimensions in which all its readers want it: a
/// transpose, which becomes a part of the streamed kernel, and its inverse, which the readers absorb. Features
/// (dimension `feature` of the result) must be adjacent. Does nothing if a transpose alone reads the product.
void orderForReaders(DotGeneralOp product, int64_t feature);

} // namespace spmdc
