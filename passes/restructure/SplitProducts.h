//===- SplitProducts.h - products with slices of weights --------*- C++ -*-===//
#pragma once

#include "passes/reshard/ReshardPlanner.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace spmdc {

/// Called by spmdc-choose-shardings (passes/assign). Rewrites two patterns, each only if that sends less for the
/// present shardings. If all users of a product, perhaps after element-wise operations, take ranges of one dimension,
/// it slices the operand that has the dimension, and multiplies by each slice. If the operand of a product or a sum is
/// a concatenation of parts (or a sum of zero-padded parts, as derivatives of slices are), it computes a result for
/// each part; the results are concatenated if they have the dimension, and added otherwise. Returns the locations of
/// the rewritten values.
llvm::SmallVector<mlir::Location> splitProducts(mlir::func::FuncOp func, ReshardPlanner &planner);

} // namespace spmdc
