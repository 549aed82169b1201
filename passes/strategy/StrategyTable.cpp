//===- StrategyTable.cpp - strategies of one operation --------------------===//

#include "passes/strategy/StrategyTable.h"

#include "ir/array/PartialSums.h"
#include "passes/strategy/FactorAxesLists.h"

using namespace mlir;

namespace spmdc {

static bool isOfWholeAxes(const spmd::Sharding &sharding) {
  auto areWhole = [](const AxisRefs &axes) {
    return llvm::all_of(axes, [](const spmd::AxisRef &axis) { return axis.isWholeAxis(); });
  };
  return areWhole(sharding.unreduced) && llvm::all_of(sharding.dims, areWhole);
}

bool mayRememberFactorAxes(const std::vector<spmd::Sharding> &operands, const spmd::Sharding &result) {
  return isOfWholeAxes(result) && llvm::all_of(operands, isOfWholeAxes);
}

std::vector<StrategyEntry> StrategyTable::of(std::vector<FactorAxes> listed) const {
  std::vector<StrategyEntry> candidates;
  candidates.reserve(listed.size());
  for (FactorAxes &axes : listed) {
    StrategyEntry &candidate = candidates.emplace_back();
    candidate.leastComputeSeconds = computeTime.atLeast(axes);
    candidate.choice.axes = std::move(axes);
  }
  return candidates;
}

void StrategyTable::visitAll(const std::vector<spmd::Sharding> &operands, const spmd::Sharding &result,
                             llvm::function_ref<void(std::vector<StrategyEntry> &)> visit) const {
  bool mayRemember = mayRememberFactorAxes(operands, result);
  if (!mayRemember || traits.candidates->empty()) {
    std::vector<StrategyEntry> all = of(listAllFactorAxes(getAutomaticMesh(op), traits.rule, operands, result));
    if (!mayRemember)
      return visit(all);
    *traits.candidates = std::move(all);
  }
  visit(*traits.candidates);
}

bool StrategyTable::tryAssign(StrategyEntry &candidate) const {
  if (!candidate.isPossible) {
    candidate.isPossible = tryAssign(candidate.choice);
    candidate.computeSeconds = *candidate.isPossible ? computeTime.of(candidate.choice) : 0;
  }
  return *candidate.isPossible;
}

bool StrategyTable::tryAssign(Strategy &choice) const {
  const FactorAxes &axes = choice.axes;
  for (size_t f = 0; f < axes.size(); ++f)
    if (traits.rule.factors[f].kind == FactorKind::Reduction)
      choice.reduced.insert(choice.reduced.end(), axes[f].begin(), axes[f].end());
  sortAxes(mesh, choice.reduced);
  MLIRContext *context = op->getContext();
  auto typeOfPartials = [&](ArrayType type) {
    bool areWide = !choice.reduced.empty() && combinesElements(op);
    return areWide ? withPartialSums(op, type) : type;
  };
  for (size_t i = 0; i < traits.rule.operands.size(); ++i) {
    std::optional<spmd::Sharding> sharding = shardingOf(mesh, traits.rule, traits.rule.operands[i], axes);
    if (!sharding)
      return false;
    auto type = cast<ArrayType>(op->getOperand(i).getType());
    if (op.isAddedTo(i)) {
      sharding->unreduced = choice.reduced;
      type = typeOfPartials(type);
    }
    choice.operands.push_back(type.withSharding(ShardingAttr::fromValue(context, *sharding)));
  }
  std::optional<spmd::Sharding> sharding = shardingOf(mesh, traits.rule, traits.rule.results[0], axes);
  if (!sharding)
    return false;
  auto type = cast<ArrayType>(op->getResult(0).getType());
  if (op.getReductionKind() == ReductionKind::sum) {
    sharding->unreduced = choice.reduced;
    type = typeOfPartials(type);
  }
  choice.result = type.withSharding(ShardingAttr::fromValue(context, *sharding));
  return true;
}

} // namespace spmdc
