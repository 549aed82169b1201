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

  /// The price of one exchange for each part, less the cost of the operations that are skipped then. Nothing if the
  /// operation also computes, or `best` sends as little.
  std::optional<Price> ofMoves(const Price &best);

  /// The price of the operation's share of a window; of no memory traffic if the operation is not built.
  std::optional<Price> ofWindow();

  /// The price of a reshape as one exchange: of the ends of runs if possible (Regrouping.h), otherwise of any elements
  /// (ReshapeExchange.h). `from` receives the source: the operand before it is resharded.
  std::optional<Price> ofReshape(const Price &best, mlir::Value &from);

private:
  std::optional<CollectiveCost> getShare(mlir::Operation *payer) const;
  Price priceOf(const CollectiveCost &cost, double touched, const CollectiveCost &saved) const;
  CollectiveCost getExchangeCost(ArrayType from, ArrayType to, const std::vector<spmd::DimMove> &dims);
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
