//===- FollowedShardings.cpp - shardings that follow others ---------------===//

#include "passes/assign/FollowedShardings.h"

using namespace mlir;

namespace spmdc {
namespace {

/// Gives the factors without axes their axes of `present`, if no other factor uses these.
void keepOthers(FactorAxes &axes, const FactorAxes &present) {
  AxisRefs used;
  for (const AxisRefs &list : axes)
    llvm::append_range(used, list);
  for (size_t f = 0; f < axes.size(); ++f) {
    if (!axes[f].empty() || present[f].empty() || overlap(used, present[f]))
      continue;
    axes[f] = present[f];
    llvm::append_range(used, present[f]);
  }
}

} // namespace

ShardingAttr FollowedShardings::find(const OperationFacts &facts, unsigned self, ShardingAttr sharding, unsigned other,
                                     Value value) {
  ShardingAttr present = facts.isPointwise ? ShardingAttr() : cast<ArrayType>(value.getType()).getShardingOrOpen();
  auto [entry, isNew] = known.try_emplace(
      {facts.fixed, self, sharding.getAsOpaquePointer(), other, present.getAsOpaquePointer()}, ShardingAttr());
  if (isNew)
    entry->second = follow(facts, self, sharding, other, present);
  return entry->second;
}

ShardingAttr FollowedShardings::follow(const OperationFacts &facts, unsigned self, ShardingAttr sharding,
                                       unsigned other, ShardingAttr present) const {
  const ShardingRule &rule = facts.operationRule.rule;
  auto factorsOf = [&](unsigned index) -> const ValueFactors & {
    return index < rule.operands.size() ? rule.operands[index] : rule.results[0];
  };
  spmd::Sharding wanted = sharding.toValue();
  FactorAxes axes = projectToFactors(mesh, rule, factorsOf(self), wanted);
  std::optional<spmd::Sharding> kept = spmdc::shardingOf(mesh, rule, factorsOf(self), axes);
  if (!kept || kept->dims != wanted.dims)
    return {};
  // A result that is summed over a sharded factor is unreduced, so it does not follow.
  bool isPartial = false;
  for (auto [factor, list] : llvm::zip(rule.factors, axes))
    isPartial |= factor.kind != FactorKind::PassThrough && !list.empty();
  if (isPartial && other == rule.operands.size())
    return {};
  if (present) // Along dimensions that `self` does not have, the value keeps its axes.
    keepOthers(axes, projectToFactors(mesh, rule, factorsOf(other), present.toValue()));
  std::optional<spmd::Sharding> next = spmdc::shardingOf(mesh, rule, factorsOf(other), axes);
  return next ? ShardingAttr::fromValue(sharding.getContext(), *next) : ShardingAttr();
}

} // namespace spmdc
