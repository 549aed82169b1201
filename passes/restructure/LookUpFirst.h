//===- LookUpFirst.h - lookups in slices of arrays --------------*- C++ -*-===//
#pragma once

#include "passes/reshard/ReshardPlanner.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace spmdc {

/// If elements of a slice are looked up along a dimension that the slice has in full size, looks them up in the array,
/// and slices the result. Rewrites only if that sends less for the present shardings. Called by spmdc-choose-shardings
/// (passes/assign). Returns the locations of the lookups.
llvm::SmallVector<mlir::Location> lookUpFirst(mlir::func::FuncOp func, ReshardPlanner &planner);

} // namespace spmdc
