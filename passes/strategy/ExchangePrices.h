//===- ExchangePrices.h - cost of moving elements directly ------*- C++ -*-===//
#pragma once

#include "passes/strategy/Strategy.h"

namespace spmdc {

/// Prices of an operation that only moves elements, if it runs as exchanges from its operands' present shardings to its
/// result's wanted sharding, not by its sharding rule.
class ExchangePrices {
public:
  ExchangePrices(ReshardPlanner &planner, AvailableShardings &available, WindowsOf windowsOf,
                 ShardingRuleOpInterface op)
      : mesh(planner.getMesh()), model(planner.getModel()), planner(planner), available(available),
        windowsOf(windowsOf), op(op), result(mlir::cast<ArrayType>(op->getResult(0).getType())) {}

  /// The price of one exchange for each part, minus the cost of the operations that become unnecessary. Nothing if the
  /// operation does more than move elements, or if neither `best` nor the exchanges send anything.
  std::optional<Price> ofMoves(const Price &best);

  /// The operation's share of the price of the window's exchange, and its own memory traffic unless it is skipped
  /// (Windows::isSkipped). Nothing if the operation reads no window.
  std::optional<Price> ofWindow();

  /// The price of a reshape as one exchange: of the ends of runs if possible (Regrouping.h), otherwise of any elements
  /// (ReshapeExchange.h). `from` receives the source: the operand before it is resharded.
  std::optional<Price> ofReshape(const Price &best, mlir::Value &from);

private:
  std::optional<CollectiveCost> getShare(mlir::Operation *payer) const;
  Price priceOf(const CollectiveCost &cost, double touched, const CollectiveCost &saved) const;
  CollectiveCost getMoveCost(mlir::Operation *other);
  CollectiveCost getMoveCosts(llvm::ArrayRef<mlir::Operation *> others);

  const spmd::MeshShape &mesh;
  const CostModel &model;
  ReshardPlanner &planner;
  AvailableShardings &available;
  WindowsOf windowsOf;
  ShardingRuleOpInterface op;
  ArrayType result;
};

} // namespace spmdc
