//===- Partitioning.h - what a function would come to -----------*- C++ -*-===//
#pragma once

#include "passes/strategy/Strategy.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace spmdc {

/// Returned values take the shardings of the results.
void reconcileReturns(mlir::func::FuncOp func);

/// What the function sends and computes once it is partitioned as its values lie now, by the collectives and the
/// operations of a copy: operations share what they need of one another there, which no price of one of them knows.
/// Nothing where it cannot be partitioned.
std::optional<OperationPrice> priceOfPartitioned(mlir::func::FuncOp func, const spmd::MeshShape &mesh,
                                                 const CostModel &model);

} // namespace spmdc
