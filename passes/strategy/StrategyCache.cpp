//===- StrategyCache.cpp - memoized strategies of operations --------------===//

#include "passes/strategy/StrategyCache.h"

#include "passes/reshard/KeyParts.h"

using namespace mlir;

namespace spmdc {
namespace {

/// The work to price a strategy again if only the rematerialization of operands differs: the reshard plans are cached.
constexpr double kWorkOfRecipe = 0.1;

double getWork(const Strategy &strategy) {
  return std::max(1.0, static_cast<double>(strategy.assignments) / StrategyCache::kStrategiesPerWork);
}

/// Appends to `recipe` the operations that would rematerialize `value`, if it is rematerializable, and to `rematInputs`
/// the values that they read. A scalar is available everywhere and is read as it is (Rematerialization.h): the
/// expressions before it may be of any size, and shared.
void appendRecipe(Value value, std::vector<const void *> &recipe, SmallVectorImpl<Value> &rematInputs) {
  ShardingRuleOpInterface producer = typeOf(value).getRank() > 0 && isRematerializable(value)
                                         ? findRematerializableOp(value)
                                         : ShardingRuleOpInterface();
  recipe.push_back(producer ? producer->getName().getAsOpaquePointer() : nullptr);
  if (!producer)
    return;
  recipe.push_back(producer->getAttrDictionary().getAsOpaquePointer());
  for (Value operand : producer->getOperands()) {
    rematInputs.push_back(operand);
    appendRecipe(operand, recipe, rematInputs);
  }
}

} // namespace

const OperationFacts *OperationTable::find(Operation *op) const {
  auto entry = factsByOp.find(op);
  return entry == factsByOp.end() ? nullptr : &entry->second;
}

const void *OperationNumbers::numberOf(std::vector<const void *> parts) {
  return asKeyPart(numbers.try_emplace(std::move(parts), numbers.size()).first->second);
}

OperationFacts OperationTable::compute(ShardingRuleOpInterface op) const {
  OperationFacts facts{OperationRule(op), !op.getMoves().parts.empty()};
  auto isOf = [](FactorKind kind) { return [kind](const Factor &factor) { return factor.kind == kind; }; };
  facts.isPointwise = llvm::all_of(facts.operationRule.rule.factors, isOf(FactorKind::PassThrough));
  facts.reduces = llvm::any_of(facts.operationRule.rule.factors, isOf(FactorKind::Reduction));
  const ReductionDiscount &reductionDiscount = facts.operationRule.reductionDiscount;
  std::vector<const void *> fixed = {op->getName().getAsOpaquePointer(), op->getAttrDictionary().getAsOpaquePointer(),
                                     asKeyPart(reductionDiscount.share), asKeyPart(reductionDiscount.shareIfSharded),
                                     asKeyPart(reductionDiscount.fullDims.size())};
  for (int64_t dim : reductionDiscount.fullDims)
    fixed.push_back(asKeyPart(dim));
  fixed.push_back(typeOf(op->getResult(0)).withoutSharding().getAsOpaquePointer());
  std::vector<const void *> rematId;
  for (Value operand : op->getOperands()) {
    fixed.push_back(typeOf(operand).withoutSharding().getAsOpaquePointer());
    fixed.push_back(asKeyPart(static_cast<uintptr_t>(getRunsPerReshard(operand, op))));
    appendRecipe(operand, rematId, facts.rematInputs);
  }
  // The manual axes around the operation cannot shard it.
  for (auto manual = op->getParentOfType<ManualOp>(); manual; manual = manual->getParentOfType<ManualOp>())
    fixed.push_back(manual.getManualAttr().getAsOpaquePointer());
  facts.fixed = numbers.numberOf(std::move(fixed));
  facts.rematId = numbers.numberOf(std::move(rematId));
  facts.operationRule.options =
      numbers.shareOptions(facts.fixed, facts.rematId, std::move(facts.operationRule.options));
  return facts;
}

OperationKey StrategyCache::getKeyOfTypes(ShardingRuleOpInterface op, const OperationFacts &facts) const {
  OperationKey key{{facts.fixed, op->getResult(0).getType().getAsOpaquePointer()}};
  for (ShardingRuleOpInterface sharer : facts.operationRule.reductionDiscount.sharers) {
    spmd::Sharding summed;
    summed.unreduced = findPartialAxes(planner.getMesh(), sharer, table.find(sharer)->operationRule.rule);
    key.parts.push_back(ShardingAttr::fromValue(op->getContext(), summed).getAsOpaquePointer());
  }
  for (Value operand : op->getOperands())
    key.parts.push_back(operand.getType().getAsOpaquePointer());
  return key;
}

void StrategyCache::addRematId(const OperationFacts &facts, OperationKey &key) {
  key.parts.push_back(facts.rematId);
  for (Value value : facts.rematInputs)
    key.parts.push_back(value.getType().getAsOpaquePointer());
}

OperationKey StrategyCache::getKey(ShardingRuleOpInterface op) const {
  const OperationFacts &facts = *table.find(op);
  OperationKey key = getKeyOfTypes(op, facts);
  addRematId(facts, key);
  return key;
}

const Strategy &StrategyCache::choose(ShardingRuleOpInterface op, double &work) {
  const OperationFacts &facts = *table.find(op);
  // An operation that moves elements also depends on the operations before it, and on others that share its windows.
  if (facts.movesElements) {
    AvailableShardings none(planner, /*longestChain=*/0);
    auto windowsOf = [&](Operation *other) { return families.getWindows(other); };
    uncached = chooseStrategy(planner, none, windowsOf, op, facts.operationRule);
    work += getWork(uncached);
    return uncached;
  }
  OperationKey ofTypes = getKeyOfTypes(op, facts), key = ofTypes;
  addRematId(facts, key);
  auto [entry, isNew] = strategies.try_emplace(std::move(key));
  if (isNew) {
    entry->second = chooseStrategy(planner, op, facts.operationRule);
    work += (seen.insert(std::move(ofTypes)).second ? 1 : kWorkOfRecipe) * getWork(entry->second);
  }
  return entry->second;
}

} // namespace spmdc
