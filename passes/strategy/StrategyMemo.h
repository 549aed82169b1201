//===- StrategyMemo.h - strategies of equal operations ----------*- C++ -*-===//
#pragma once

#include "passes/strategy/StrategyCache.h"

namespace spmdc {

/// The strategies that spmdc-insert-reshards has chosen, each once for equal operations whose operands are available in
/// equal shardings: in all layers of a network, and in all trial partitions of a function (Partitioning.h), which
/// differ in few shardings. For operations of one context, mesh and cost model.
class StrategyMemo {
public:
  /// The numbers of the operations' facts.
  OperationNumbers &getNumbers() { return numbers; }

  /// The cheapest strategy, as chooseStrategy (Strategy.h) finds it.
  Strategy choose(ReshardPlanner &planner, AvailableShardings &available, const Windows &windows,
                  ShardingRuleOpInterface op, const OperationFacts &facts);

private:
  OperationNumbers numbers;
  /// By the operation, the types around it, and what else is available of its operands. Not iterated.
  std::unordered_map<OperationKey, Strategy, OperationKey::Hash> strategies;
  /// The only strategy that the types around an operation suggest, if it takes the operands as they are and sends
  /// nothing: then it is chosen whatever else is available. By the operation and the types. Not iterated.
  std::unordered_map<OperationKey, Strategy, OperationKey::Hash> onlyStrategies;
};

} // namespace spmdc
