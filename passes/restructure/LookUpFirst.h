//===- LookUpFirst.h - lookups in parts of arrays ---------------*- C++ -*-===//
#pragma once

#include "passes/reshard/ReshardPlanner.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace spmdc {

/// Where elements of a part of an array are looked up along a dimension that the part has whole, looks them up in the
/// array, and takes that part of what is found. Only where that sends less as values lie now. Returns where the lookups
/// come from.
llvm::SmallVector<mlir::Location> lookUpFirst(mlir::func::FuncOp func, ReshardPlanner &planner);

} // namespace spmdc
