//===- Strategy.h - how one operation runs on the devices -------*- C++ -*-===//
//
// The strategies of an operation, whose operands and result have given shardings, are assignments of axes to its
// factors: first those that the operands and the result have on each factor (or none), then, if these need
// communication, every other one (FactorAxesLists.h). The price of a strategy has three parts: the reshards of the
// operands, each from the cheapest available sharding (AvailableShardings.h); the local computation, repeated work
// included; and the reshard of the result (or reduction of its partial sums). The cheapest strategy wins; among equally
// cheap ones the one that sends least, then the one listed first, which is closest to the result.
//
// Two kinds of strategy replace collectives: one exchange between the present shardings (`movesDirectly`), and an owner
// read instead of the reduction of the result (OwnerRead.h). To add a kind (docs/add-strategy.md): a header of
// passes/exchange finds and builds it, ExchangePrices.h or StrategySearch::getPrice (Strategy.cpp) prices it, and
// passes/partition/Partition.cpp builds it.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "ir/array/ArrayOps.h"
#include "passes/exchange/Windows.h"
#include "passes/reductions/ReductionDiscount.h"
#include "passes/reshard/ReshardPlanner.h"
#include "passes/sharding/FactorAxes.h"
#include "passes/strategy/AvailableShardings.h"

#include <memory>

namespace spmdc {

class RunCounts;

/// One assignment of axes to factors, with the shardings that follow from it.
struct Strategy {
  FactorAxes axes;
  llvm::SmallVector<ArrayType> operands;
  ArrayType result; ///< With unreduced axes if the operation leaves partial sums.
  AxisRefs reduced; ///< Axes of reduction factors.
  /// Exchanges compute the wanted result from the operands in their present shardings (ArrayMoves.h); the fields above
  /// are not used.
  bool movesDirectly = false;
  /// If a reshape moves directly: the array from which it starts (Regrouping.h, ReshapeExchange.h).
  mlir::Value reshapedFrom;
  Price price;
  int64_t assignments = 0; ///< The number of assignments that were tried.
};

/// The reshard that defines `value`, if the value has one use and the operand has no unreduced axes; null otherwise. An
/// operation that moves elements directly starts from the reshard's operand.
ReshardOp getOwnReshard(mlir::Value value);

/// Returns the windows that operations like this one share; null if the operation shares none.
using WindowsOf = llvm::function_ref<const Windows *(mlir::Operation *)>;

/// A strategy, and the properties that do not depend on the shardings around the operation.
struct StrategyEntry {
  Strategy strategy;                   ///< Without a price; only the axes until StrategyTable::tryAssign.
  double leastComputeSeconds = 0;      ///< A lower bound, from the factors alone.
  std::optional<bool> isPossible = {}; ///< Whether shardings express the assignment; set by StrategyTable::tryAssign.
  double computeSeconds = 0;
};

/// The properties of an operation of one result that do not depend on the shardings around it.
struct OperationRule {
  explicit OperationRule(ShardingRuleOpInterface op)
      : rule(op.getShardingRule()), reductionDiscount(getReductionDiscount(op, rule)) {}

  ShardingRule rule;
  ReductionDiscount reductionDiscount;
  /// Every assignment of full axes, once listed, with the properties that have been computed. Equal operations share
  /// them.
  std::shared_ptr<std::vector<StrategyEntry>> options = std::make_shared<std::vector<StrategyEntry>>();
};

/// The cheapest strategy of an operation of one result, for the present types of its operands and result, the available
/// shardings of its operands, and the windows that operations share.
Strategy chooseStrategy(ReshardPlanner &planner, AvailableShardings &available, WindowsOf windowsOf,
                        ShardingRuleOpInterface op, const OperationRule &operationRule);
/// The same if each value is available only in its present sharding, and without windows.
inline Strategy chooseStrategy(ReshardPlanner &planner, ShardingRuleOpInterface op,
                               const OperationRule &operationRule) {
  AvailableShardings none(planner, /*longestChain=*/0);
  return chooseStrategy(planner, none, [](mlir::Operation *) { return nullptr; }, op, operationRule);
}
inline Strategy chooseStrategy(ReshardPlanner &planner, ShardingRuleOpInterface op) {
  return chooseStrategy(planner, op, OperationRule(op));
}

/// The sum of the operations' prices for their present types, each alone and multiplied by its number of runs.
Price priceWithCurrentShardings(ReshardPlanner &planner, RunCounts &runs, llvm::ArrayRef<mlir::Operation *> ops);

/// A strategy with only the parts of the price that do not depend on other operations.
struct SolverStrategy {
  llvm::SmallVector<ArrayType> operands;
  ArrayType result;          ///< With unreduced axes if the operation leaves partial sums.
  double seconds = 0;        ///< Of computing, and of reductions that are not sums.
  double resultFraction = 1; ///< The fraction of the cost of the result's reshard that is paid.
};

/// All strategies of an operation by its sharding rule, no two with the same types; nothing if there are more than
/// `most`.
std::optional<std::vector<SolverStrategy>> listSolverStrategies(ReshardPlanner &planner, ShardingRuleOpInterface op,
                                                                const OperationRule &operationRule, size_t most);

} // namespace spmdc
