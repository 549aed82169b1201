//===- ExchangePrices.h - what it costs to move elements directly ---*- C++ -*-===//
#pragma once

#include "passes/strategy/Strategy.h"

namespace spmdc {

/// Of an operation that only moves elements: prices of exchanges from the operands as they lie to the result as it is
/// wanted, in place of an assignment.
class ExchangePrices {
public:
  ExchangePrices(ReshardPlanner &planner, AvailableShardings &forms, WindowsOf windowsOf, ShardingRuleOpInterface op)
      : mesh(planner.getMesh()), model(planner.getModel()), planner(planner), forms(forms), windowsOf(windowsOf),
        op(op), result(mlir::cast<ArrayType>(op->getResult(0).getType())) {}

  /// Of exchanges, less what the operations would send that are skipped; nothing where the operation does more than
  /// move elements, or `best` sends as little.
  std::optional<OperationPrice> ofMoves(const OperationPrice &best);

  /// Of the part that the operation has in the window of an array, or in none where it is not built.
  std::optional<OperationPrice> ofWindow();

  /// Of a reshape as an exchange, of the ends of runs if possible, from its operand before it is brought into any other
  /// sharding.
  std::optional<OperationPrice> ofReshape(const OperationPrice &best, mlir::Value &from);

private:
  std::optional<CollectiveCost> getShare(mlir::Operation *payer) const;
  OperationPrice priceOf(const CollectiveCost &cost, double touched, const CollectiveCost &saved) const;
  CollectiveCost getExchangeCost(ArrayType from, ArrayType to, const std::vector<spmd::DimMove> &dims);
  CollectiveCost getMoveCost(mlir::Operation *other);
  CollectiveCost getMoveCosts(llvm::ArrayRef<mlir::Operation *> others);

  const spmd::MeshShape &mesh;
  const CostModel &model;
  ReshardPlanner &planner;
  AvailableShardings &forms;
  WindowsOf windowsOf;
  ShardingRuleOpInterface op;
  ArrayType result;
};

} // namespace spmdc
