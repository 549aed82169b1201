//===- StrategyTable.cpp - strategies of one operation --------------------===//

#include "passes/strategy/StrategyTable.h"

#include "ir/array/PartialSums.h"
#include "passes/strategy/FactorAxesLists.h"

using namespace mlir;

namespace spmdc {

static bool namesFullAxes(const spmd::Sharding &sharding) {
  auto areFull = [](const AxisRefs &axes) {
    return llvm::all_of(axes, [](const spmd::AxisRef &axis) { return axis.isFullAxis(); });
  };
  return areFull(sharding.unreduced) && llvm::all_of(sharding.dims, areFull);
}

bool canCacheFactorAxes(const std::vector<spmd::Sharding> &operands, const spmd::Sharding &result) {
  return namesFullAxes(result) && llvm::all_of(operands, namesFullAxes);
}

std::vector<StrategyEntry> StrategyTable::of(std::vector<FactorAxes> listed) const {
  std::vector<StrategyEntry> options;
  options.reserve(listed.size());
  for (FactorAxes &axes : listed) {
    StrategyEntry &option = options.emplace_back();
    option.leastComputeSeconds = computeTime.atLeast(axes);
    option.strategy.axes = std::move(axes);
  }
  return options;
}

void StrategyTable::visitAll(const std::vector<spmd::Sharding> &operands, const spmd::Sharding &result,
                             llvm::function_ref<void(std::vector<StrategyEntry> &)> visit) const {
  bool canCache = canCacheFactorAxes(operands, result);
  if (!canCache || operationRule.options->empty()) {
    std::vector<StrategyEntry> all = of(listAllFactorAxes(getAutomaticMesh(op), operationRule.rule, operands, result));
    if (!canCache)
      return visit(all);
    *operationRule.options = std::move(all);
  }
  visit(*operationRule.options);
}

bool StrategyTable::tryAssign(StrategyEntry &option) const {
  if (!option.isPossible) {
    option.isPossible = tryAssign(option.strategy);
    option.computeSeconds = *option.isPossible ? computeTime.of(option.strategy) : 0;
  }
  return *option.isPossible;
}

bool StrategyTable::tryAssign(Strategy &strategy) const {
  const FactorAxes &axes = strategy.axes;
  for (size_t f = 0; f < axes.size(); ++f)
    if (operationRule.rule.factors[f].kind == FactorKind::Reduction)
      strategy.reduced.insert(strategy.reduced.end(), axes[f].begin(), axes[f].end());
  sortAxes(mesh, strategy.reduced);
  MLIRContext *context = op->getContext();
  auto typeOfPartials = [&](ArrayType type) {
    bool areWide = !strategy.reduced.empty() && combinesElements(op);
    return areWide ? withPartialSums(op, type) : type;
  };
  for (size_t i = 0; i < operationRule.rule.operands.size(); ++i) {
    std::optional<spmd::Sharding> sharding = shardingOf(mesh, operationRule.rule, operationRule.rule.operands[i], axes);
    if (!sharding)
      return false;
    auto type = cast<ArrayType>(op->getOperand(i).getType());
    if (op.isAddedTo(i)) {
      sharding->unreduced = strategy.reduced;
      type = typeOfPartials(type);
    }
    strategy.operands.push_back(type.withSharding(ShardingAttr::fromValue(context, *sharding)));
  }
  std::optional<spmd::Sharding> sharding = shardingOf(mesh, operationRule.rule, operationRule.rule.results[0], axes);
  if (!sharding)
    return false;
  auto type = cast<ArrayType>(op->getResult(0).getType());
  if (op.getReductionKind() == ReductionKind::sum) {
    sharding->unreduced = strategy.reduced;
    type = typeOfPartials(type);
  }
  strategy.result = type.withSharding(ShardingAttr::fromValue(context, *sharding));
  return true;
}

} // namespace spmdc
