//===- StartingChanges.cpp - changes around one operation -----------------===//

#include "passes/assign/StartingChanges.h"

#include "passes/strategy/FactorAxesLists.h"
#include "passes/strategy/StrategyTable.h"

#include <map>
#include <set>

using namespace mlir;

namespace spmdc {

/// The number of operations between the loads of a carry and its other values: the updates and the yield of an
/// iteration.
static constexpr unsigned kNearRadius = 5;

static spmd::Sharding shardingOf(Value value) { return cast<ArrayType>(value.getType()).getShardingOrOpen().toValue(); }

std::vector<ShardingChange> StartingChanges::list(Operation *op, double limit, bool mayCostMore) {
  std::multimap<double, ShardingChange> found; // Keyed by the bytes that the operation then sends.
  Price now = graph.price(op);
  std::set<std::vector<std::pair<unsigned, const void *>>> seen;
  auto consider = [&](const ShardingChange &change) {
    std::vector<std::pair<unsigned, const void *>> key;
    for (auto &[variable, sharding] : change)
      key.emplace_back(variable, sharding.getAsOpaquePointer());
    if (graph.getWork() >= limit || change.empty() || !seen.insert(key).second)
      return;
    ShardingChange undo = graph.apply(change);
    Price price = graph.price(op);
    graph.apply(undo);
    if (price.linkBytes < now.linkBytes || mayCostMore)
      found.emplace(price.linkBytes, change);
  };
  if (graph.getRule(op))
    listAround(cast<ShardingRuleOpInterface>(op), limit, consider);
  else
    listEdges(op, consider);
  std::vector<ShardingChange> changes;
  for (auto &[linkBytes, change] : found)
    if (changes.size() < (mayCostMore ? kMaxTogether : kMaxStarts))
      changes.push_back(std::move(change));
  return changes;
}

/// For each assignment of axes to the operation's factors: changes all values around it, only the operands, or only the
/// result. If the result would be unreduced, also shards it along a dimension, so that it is reduced and scattered.
void StartingChanges::listAround(ShardingRuleOpInterface op, double limit,
                                 llvm::function_ref<void(const ShardingChange &)> consider) {
  const ShardingRule &rule = *graph.getRule(op);
  std::vector<spmd::Sharding> operands;
  for (Value operand : op->getOperands())
    operands.push_back(shardingOf(operand));
  spmd::Sharding result = shardingOf(op->getResult(0));
  const std::vector<FactorAxes> suggested = listSuggestedFactorAxes(mesh, rule, operands, result);
  auto assignments = llvm::map_to_vector(suggested, [](const FactorAxes &axes) { return &axes; });
  // If the operation has been priced, its strategies are known.
  const std::vector<StrategyEntry> &known = *graph.getStrategies().find(op)->operationRule.options;
  std::vector<FactorAxes> all;
  if (!known.empty() && canCacheFactorAxes(operands, result)) {
    for (const StrategyEntry &option : known)
      assignments.push_back(&option.strategy.axes);
  } else {
    all = listAllFactorAxes(getAutomaticMesh(op), rule, operands, result);
    for (const FactorAxes &axes : all)
      assignments.push_back(&axes);
  }
  graph.addWork(assignments.size());
  for (const FactorAxes *assignment : assignments) {
    const FactorAxes &axes = *assignment;
    if (graph.getWork() >= limit)
      return;
    ShardingChange ofOperands, ofResult;
    bool isPossible = true;
    for (auto [operand, factors] : llvm::zip(op->getOperands(), rule.operands)) {
      std::optional<spmd::Sharding> sharding = spmdc::shardingOf(mesh, rule, factors, axes);
      bool isResharded = reshardsOperands && sharding && !mayHaveSharding(operand, *sharding);
      isPossible = isPossible && (isResharded || add(ofOperands, operand, sharding));
    }
    std::optional<spmd::Sharding> made = spmdc::shardingOf(mesh, rule, rule.results[0], axes);
    if (!isPossible || !add(ofResult, op->getResult(0), made))
      continue;
    consider(ofOperands);
    consider(ofResult);
    ShardingChange all = ofOperands;
    for (auto &entry : ofResult)
      all.insert(entry);
    consider(all);
    for (auto [factor, list] : llvm::zip(rule.factors, axes)) {
      if (factor.kind != FactorKind::Reduction || list.empty())
        continue;
      for (size_t dim = 0; dim < made->dims.size(); ++dim) {
        spmd::Sharding scattered = *made;
        llvm::append_range(scattered.dims[dim], list);
        if (sizeOf(mesh, scattered.dims[dim]) > cast<ArrayType>(op->getResult(0).getType()).getDimSize(dim))
          continue;
        ShardingChange change;
        if (add(change, op->getResult(0), scattered))
          consider(change);
      }
    }
  }
}

/// For the edges of a loop, branch, return or reshard: changes the value to the sharding of its target, or the reverse.
void StartingChanges::listEdges(Operation *op, llvm::function_ref<void(const ShardingChange &)> consider) {
  SmallVector<Value> places;
  if (isa<ReshardOp, ForOp, WhileOp>(op))
    llvm::append_range(places, op->getResults());
  else if (isa<YieldOp>(op))
    llvm::append_range(places, op->getParentOp()->getResults());
  SmallVector<Type> wanted;
  if (auto ret = dyn_cast<func::ReturnOp>(op))
    llvm::append_range(wanted, ret->getParentOfType<func::FuncOp>().getResultTypes());
  else
    llvm::append_range(wanted, ValueRange(places).getTypes());
  for (auto [index, operand, type] : llvm::enumerate(op->getOperands(), wanted)) {
    auto to = dyn_cast<ArrayType>(type);
    if (!to || !isa<ArrayType>(operand.getType()))
      continue;
    ShardingChange ofOperand, ofPlace;
    add(ofOperand, operand, to.getShardingOrOpen().toValue());
    consider(ofOperand);
    if (index >= places.size())
      continue;
    add(ofPlace, places[index], shardingOf(operand));
    consider(ofPlace);
  }
}

bool StartingChanges::mayHaveSharding(Value value, const spmd::Sharding &sharding) const {
  std::optional<unsigned> variable = graph.getVariable(value);
  return !variable || graph.mayHaveSharding(*variable, ShardingAttr::fromValue(value.getContext(), sharding));
}

/// Adds the sharding of a value to a change. False if there is no such sharding, if the value may not have it, or if
/// the change has another one for the value.
bool StartingChanges::add(ShardingChange &change, Value value, const std::optional<spmd::Sharding> &sharding) {
  if (!sharding)
    return false;
  std::optional<unsigned> variable = graph.getVariable(value);
  if (!variable)
    return true;
  ShardingAttr wanted = ShardingAttr::fromValue(value.getContext(), *sharding);
  if (wanted.hasSameAxes(graph.getSharding(*variable)))
    return true;
  if (!graph.mayHaveSharding(*variable, wanted))
    return false;
  auto [entry, isNew] = change.insert({*variable, wanted});
  return isNew || entry->second == wanted;
}

/// Whether an iteration of a loop reads a part of an array.
static bool readsPartInLoop(Operation *op) {
  return isa<TakeOp, DynamicSliceOp>(op) && (op->getParentOfType<ForOp>() || op->getParentOfType<WhileOp>());
}

bool StartingChanges::isSliced(Operation *op, size_t dim) const {
  const ShardingRule &rule = *graph.getRule(op);
  return llvm::any_of(rule.operands[0][dim],
                      [&](unsigned factor) { return rule.factors[factor].kind == FactorKind::Reduction; });
}

/// Removes the axes of the dimensions along which parts are read, and returns them.
AxisRefs StartingChanges::takeSlicedAxes(Operation *op, spmd::Sharding &sharding) const {
  AxisRefs axes;
  for (auto [dim, list] : llvm::enumerate(sharding.dims))
    if (isSliced(op, dim))
      llvm::append_range(axes, std::exchange(list, {}));
  return axes;
}

/// The change that gives the array from which parts are read this sharding, and the parts the one that follows.
std::optional<ShardingChange> StartingChanges::changeOperand(Operation *op, const spmd::Sharding &sharding) {
  const ShardingRule &rule = *graph.getRule(op);
  FactorAxes axes = projectToFactors(mesh, rule, rule.operands[0], sharding);
  ShardingChange change;
  if (!add(change, op->getOperand(0), sharding) ||
      !add(change, op->getResult(0), spmdc::shardingOf(mesh, rule, rule.results[0], axes)))
    return std::nullopt;
  return change;
}

std::vector<ShardingChange> StartingChanges::listOtherDimChanges(Operation *op) {
  std::vector<ShardingChange> changes;
  if (!readsPartInLoop(op))
    return changes;
  spmd::Sharding sharding = shardingOf(op->getOperand(0));
  AxisRefs axes = takeSlicedAxes(op, sharding);
  if (axes.empty())
    return changes;
  auto type = cast<ArrayType>(op->getOperand(0).getType());
  for (size_t dim = 0; dim < sharding.dims.size(); ++dim) {
    spmd::Sharding moved = sharding;
    llvm::append_range(moved.dims[dim], axes);
    if (isSliced(op, dim) || sizeOf(mesh, moved.dims[dim]) > type.getDimSize(dim))
      continue;
    if (std::optional<ShardingChange> change = changeOperand(op, moved))
      changes.push_back(std::move(*change));
  }
  return changes;
}

std::optional<ShardingChange> StartingChanges::findReplicatedChange(Operation *op) {
  auto carry = readsPartInLoop(op) ? dyn_cast<BlockArgument>(op->getOperand(0)) : BlockArgument();
  if (!carry || !isa<LoopLikeOpInterface>(carry.getOwner()->getParentOp()) || !graph.getVariable(carry))
    return std::nullopt;
  spmd::Sharding sharding = shardingOf(carry);
  if (takeSlicedAxes(op, sharding).empty())
    return std::nullopt;
  graph.setMaxHeldBytes(
      cast<ArrayType>(carry.getType()).getLocalBytes(mesh, ShardingAttr::fromValue(op->getContext(), sharding)));
  std::optional<ShardingChange> change = changeOperand(op, sharding);
  if (change)
    graph.follow(*change, kNearRadius);
  graph.setMaxHeldBytes(0);
  return change;
}

} // namespace spmdc
