//===- SplitProducts.h - products of parts of weights -----------*- C++ -*-===//
#pragma once

#include "passes/reshard/ReshardPlanner.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace spmdc {

/// Where all that use a product, or what element-wise operations make of it, take ranges of one dimension, takes those
/// ranges of the operand that has the dimension, and multiplies each by itself. Where a product or a sum is of parts
/// that have been joined (concatenated, or padded with zeros and added, as derivatives of slices are), computes it of
/// each part; what has the dimension is joined then, the others are added. Each only where that sends less as values
/// lie now. Returns where what parts are taken of, or what is joined of them, comes from.
llvm::SmallVector<mlir::Location> splitProducts(mlir::func::FuncOp func, ReshardPlanner &planner);

} // namespace spmdc
