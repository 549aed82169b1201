//===- Partitioning.h - price of a trial partitioning -----------*- C++ -*-===//
#pragma once

#include "passes/strategy/StrategyMemo.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace spmdc {

/// Reshards returned values to the shardings of the results.
void reconcileReturns(mlir::func::FuncOp func);

/// The price of the function with its current shardings: the sum over the collectives and operations of a partitioned
/// copy. Unlike the sum of the operations' separate prices, this counts a collective that several operations share
/// once. None if the function cannot be partitioned. `memo` is for functions of this module's mesh and cost model that
/// are as much in manual regions as this one; prices of one function should share it.
std::optional<Price> priceOfPartitioned(mlir::func::FuncOp func, const spmd::MeshShape &mesh, const CostModel &model,
                                        StrategyMemo &memo);

} // namespace spmdc
