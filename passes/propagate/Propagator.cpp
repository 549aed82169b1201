//===- Propagator.cpp - propagation to the fixed point --------------------===//

#include "passes/propagate/Propagator.h"

#include "llvm/ADT/Sequence.h"

namespace spmdc {

void Propagator::run() {
  for (int64_t priority : state.getPriorities()) {
    state.activate(priority);
    for (unsigned stage = 0; stage < kNumPriorities; ++stage)
      runToFixPoint(stage, strategy == PropagationStrategy::Basic ? PropagationStrategy::Basic
                                                                  : PropagationStrategy::Aggressive);
    if (strategy == PropagationStrategy::Settle) {
      runToFixPoint(kNumPriorities - 1, PropagationStrategy::Settle);
      displace();
    }
  }
}

void Propagator::displace() {
  // After each displacement, propagation runs to the fixed point before the next operation.
  for (unsigned index = 0; index < state.getOps().size(); ++index) {
    const ShardingRule &rule = state.getOps()[index].rule;
    auto needsReplication = [](const Factor &factor) { return factor.kind == FactorKind::NeedReplication; };
    auto isMerged = [](const ValueFactors &result) {
      return llvm::any_of(result, [](const DimFactors &dim) { return dim.size() > 1; });
    };
    if ((llvm::any_of(rule.factors, needsReplication) || llvm::any_of(rule.results, isMerged)) &&
        step(index, kNumPriorities - 1, PropagationStrategy::Displace))
      runToFixPoint(kNumPriorities - 1, PropagationStrategy::Settle);
  }
}

void Propagator::runToFixPoint(unsigned stage, PropagationStrategy stepStrategy) {
  pending.clear();
  pending.resize(state.getOps().size(), true);
  auto visit = [&](int index) {
    pending.reset(index);
    step(index, stage, stepStrategy);
  };
  while (pending.any()) {
    for (int index = pending.find_first(); index >= 0; index = pending.find_next(index))
      visit(index);
    for (int index = pending.find_last(); index >= 0; index = pending.find_prev(index))
      visit(index);
  }
}

bool Propagator::step(unsigned opIndex, unsigned stage, PropagationStrategy stepStrategy) {
  const PropagationState::OpEntry &entry = state.getOps()[opIndex];
  auto direction = [&](int64_t factor) {
    return getDirection(entry.kind, entry.rule.factors[factor], entry.surroundings, stage);
  };
  bool isAnyMoved = llvm::any_of(llvm::seq<int64_t>(0, entry.rule.factors.size()),
                                 [&](int64_t factor) { return direction(factor) != Direction::None; });
  bool displaces = stepStrategy == PropagationStrategy::Displace;
  if (!isAnyMoved && !displaces)
    return false;
  llvm::SmallVector<const TensorSharding *, 4> shardings;
  for (unsigned slot : entry.slots)
    shardings.push_back(&state.getSharding(slot));
  ShardingProjection projection(entry.rule, shardings);
  std::optional<ShardingProjection> before;
  if (observer)
    before.emplace(projection);
  if (displaces ? !displaceAxes(projection) : !propagateFactors(projection, entry.kind, direction, stepStrategy))
    return false;
  bool isChanged = false;
  for (auto [index, slot] : llvm::enumerate(entry.slots)) {
    llvm::SmallVector<unsigned, 4> changed =
        state.getSharding(slot).extend(projection.getTensors()[index].projectBack());
    if (changed.empty())
      continue;
    isChanged = true;
    for (unsigned around : state.getOpsAround(slot))
      pending.set(around);
    if (observer)
      for (unsigned dim : changed)
        observer->extended(entry, index, dim, *before, projection, stepStrategy);
  }
  return isChanged;
}

} // namespace spmdc
