//===- StrategyCache.cpp - memoized strategies of operations --------------===//

#include "passes/strategy/StrategyCache.h"

#include <bit>

using namespace mlir;

namespace spmdc {
namespace {

/// The work to price a strategy again if only the rematerialization of operands differs: the reshard plans are cached.
constexpr double kWorkOfRecipe = 0.1;

double getWork(const Strategy &choice) {
  return std::max(1.0, static_cast<double>(choice.assignments) / StrategyCache::kStrategiesPerWork);
}

ArrayType typeOf(Value value) { return cast<ArrayType>(value.getType()); }

const void *asPart(uintptr_t number) { return reinterpret_cast<const void *>(number); }

/// Appends to `recipe` the operations that would rematerialize `value`, if it is rematerializable, and to `ingredients`
/// the values that they read.
void appendRecipe(Value value, std::vector<const void *> &recipe, SmallVectorImpl<Value> &ingredients) {
  ShardingRuleOpInterface maker = isRematerializable(value) ? findRematerializableOp(value) : ShardingRuleOpInterface();
  recipe.push_back(maker ? maker->getName().getAsOpaquePointer() : nullptr);
  if (!maker)
    return;
  recipe.push_back(maker->getAttrDictionary().getAsOpaquePointer());
  for (Value operand : maker->getOperands()) {
    ingredients.push_back(operand);
    appendRecipe(operand, recipe, ingredients);
  }
}

} // namespace

const OperationFacts *StrategyCache::find(Operation *op) const {
  auto entry = signatures.find(op);
  return entry == signatures.end() ? nullptr : &entry->second;
}

const void *StrategyCache::numberOf(std::vector<const void *> parts) {
  return asPart(numbers.try_emplace(std::move(parts), numbers.size()).first->second);
}

void StrategyCache::add(ShardingRuleOpInterface op) {
  OperationFacts signature{OperationRule(op), !op.getMoves().parts.empty()};
  auto isOf = [](FactorKind kind) { return [kind](const Factor &factor) { return factor.kind == kind; }; };
  signature.takesEach = llvm::all_of(signature.traits.rule.factors, isOf(FactorKind::PassThrough));
  signature.reduces = llvm::any_of(signature.traits.rule.factors, isOf(FactorKind::Reduction));
  const ReductionDiscount &reductionDiscount = signature.traits.reductionDiscount;
  std::vector<const void *> fixed = {
      op->getName().getAsOpaquePointer(), op->getAttrDictionary().getAsOpaquePointer(),
      // The manual axes around the operation cannot shard it.
      op->getParentOfType<ManualOp>().getAsOpaquePointer(), asPart(std::bit_cast<uintptr_t>(reductionDiscount.share)),
      asPart(std::bit_cast<uintptr_t>(reductionDiscount.shareOfCut)), asPart(reductionDiscount.whole.size())};
  for (int64_t dim : reductionDiscount.whole)
    fixed.push_back(asPart(static_cast<uintptr_t>(dim)));
  fixed.push_back(typeOf(op->getResult(0)).withoutSharding().getAsOpaquePointer());
  std::vector<const void *> recipes;
  for (Value operand : op->getOperands()) {
    fixed.push_back(typeOf(operand).withoutSharding().getAsOpaquePointer());
    fixed.push_back(asPart(static_cast<uintptr_t>(getRunsPerReshard(operand, op))));
    appendRecipe(operand, recipes, signature.ingredients);
  }
  signature.fixed = numberOf(std::move(fixed));
  signature.recipes = numberOf(std::move(recipes));
  signature.traits.candidates =
      candidates.try_emplace({signature.fixed, signature.recipes}, signature.traits.candidates).first->second;
  signatures.try_emplace(op, std::move(signature));
}

OperationKey StrategyCache::getKeyOfTypes(ShardingRuleOpInterface op, const OperationFacts &signature) const {
  OperationKey key{{signature.fixed, op->getResult(0).getType().getAsOpaquePointer()}};
  for (ShardingRuleOpInterface sharer : signature.traits.reductionDiscount.sharers) {
    spmd::Sharding summed;
    summed.unreduced = findPartialAxes(planner.getMesh(), sharer, signatures.at(sharer).traits.rule);
    key.parts.push_back(ShardingAttr::fromValue(op->getContext(), summed).getAsOpaquePointer());
  }
  for (Value operand : op->getOperands())
    key.parts.push_back(operand.getType().getAsOpaquePointer());
  return key;
}

void StrategyCache::addRecipes(const OperationFacts &signature, OperationKey &key) {
  key.parts.push_back(signature.recipes);
  for (Value value : signature.ingredients)
    key.parts.push_back(value.getType().getAsOpaquePointer());
}

OperationKey StrategyCache::getKey(ShardingRuleOpInterface op) const {
  const OperationFacts &signature = signatures.find(op)->second;
  OperationKey key = getKeyOfTypes(op, signature);
  addRecipes(signature, key);
  return key;
}

const Strategy &StrategyCache::choose(ShardingRuleOpInterface op, double &work) {
  const OperationFacts &signature = signatures.find(op)->second;
  // An operation that moves elements also depends on the operations before it, and on others that share its windows.
  if (signature.movesElements) {
    AvailableShardings none(planner, /*longestChain=*/0);
    auto windowsOf = [&](Operation *other) { return families.getWindows(other); };
    uncached = chooseStrategy(planner, none, windowsOf, op, signature.traits);
    work += getWork(uncached);
    return uncached;
  }
  OperationKey ofTypes = getKeyOfTypes(op, signature), key = ofTypes;
  addRecipes(signature, key);
  auto [entry, isNew] = choices.try_emplace(std::move(key));
  if (isNew) {
    entry->second = chooseStrategy(planner, op, signature.traits);
    work += (seen.insert(std::move(ofTypes)).second ? 1 : kWorkOfRecipe) * getWork(entry->second);
  }
  return entry->second;
}

} // namespace spmdc
