//===- StrategyMemo.cpp - strategies of equal operations ------------------===//

#include "passes/strategy/StrategyMemo.h"

using namespace mlir;

namespace spmdc {

Strategy StrategyMemo::choose(ReshardPlanner &planner, AvailableShardings &available, const Windows &windows,
                              ShardingRuleOpInterface op, const OperationFacts &facts) {
  auto search = [&] {
    return chooseStrategy(planner, available, [&](Operation *) { return &windows; }, op, facts.operationRule);
  };
  // An operation that moves elements also depends on windows and on the operations before it, and so does a reshape.
  if (facts.movesElements || isa<ReshapeOp>(op.getOperation()))
    return search();
  OperationKey key{{facts.fixed, facts.rematId, op->getResult(0).getType().getAsOpaquePointer()}};
  for (ShardingRuleOpInterface sharer : facts.operationRule.reductionDiscount.sharers) {
    spmd::Sharding summed;
    summed.unreduced = findPartialAxes(planner.getMesh(), sharer, sharer.getShardingRule());
    key.parts.push_back(ShardingAttr::fromValue(op->getContext(), summed).getAsOpaquePointer());
  }
  OperationKey ofTypes = key;
  for (Value operand : op->getOperands())
    ofTypes.parts.push_back(operand.getType().getAsOpaquePointer());
  const bool paysAsItIs = available.hasUnpaidOperand(op);
  if (!paysAsItIs)
    if (auto known = onlyStrategies.find(ofTypes); known != onlyStrategies.end())
      return known->second;
  for (Value operand : op->getOperands())
    available.describe(operand, op, key.parts);
  auto [entry, isNew] = strategies.try_emplace(std::move(key));
  if (isNew)
    entry->second = search();
  const Strategy &strategy = entry->second;
  bool keepsOperands = !paysAsItIs && llvm::all_of(llvm::zip(op->getOperands(), strategy.operands), [](auto pair) {
    auto [operand, type] = pair;
    return typeOf(operand).getShardingOrOpen().hasSameAxes(type.getShardingOrOpen());
  });
  if (keepsOperands && strategy.assignments == 1 && strategy.price.linkBytes == 0)
    onlyStrategies.try_emplace(std::move(ofTypes), strategy);
  return strategy;
}

} // namespace spmdc
