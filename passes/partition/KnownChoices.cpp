//===- KnownChoices.cpp - how operations are run, remembered --------------===//

#include "passes/partition/KnownChoices.h"

#include <bit>

using namespace mlir;

namespace spmdc {
namespace {

/// Of a choice that differs from one that was made in what its operands can be made of: the ways to reshard are known.
constexpr double kWorkOfRecipe = 0.1;

double getWork(const OperationChoice &choice) {
  return std::max(1.0, static_cast<double>(choice.assignments) / KnownChoices::kWaysPerWork);
}

ArrayType typeOf(Value value) { return cast<ArrayType>(value.getType()); }

const void *asPart(uintptr_t number) { return reinterpret_cast<const void *>(number); }

/// What decides about making a value again, if it is made of little: the operations, and the values that they begin
/// with.
void appendRecipe(Value value, std::vector<const void *> &recipe, SmallVectorImpl<Value> &ingredients) {
  ShardingRuleOpInterface maker = isMadeOfLittle(value) ? findMaker(value) : ShardingRuleOpInterface();
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

const OperationSignature *KnownChoices::find(Operation *op) const {
  auto entry = signatures.find(op);
  return entry == signatures.end() ? nullptr : &entry->second;
}

const void *KnownChoices::numberOf(std::vector<const void *> parts) {
  return asPart(numbers.try_emplace(std::move(parts), numbers.size()).first->second);
}

void KnownChoices::add(ShardingRuleOpInterface op) {
  OperationSignature signature{OperationTraits(op), !op.getMoves().parts.empty()};
  auto isOf = [](FactorKind kind) { return [kind](const Factor &factor) { return factor.kind == kind; }; };
  signature.takesEach = llvm::all_of(signature.traits.rule.factors, isOf(FactorKind::PassThrough));
  signature.reduces = llvm::any_of(signature.traits.rule.factors, isOf(FactorKind::Reduction));
  const ReductionShare &reductionShare = signature.traits.reductionShare;
  std::vector<const void *> fixed = {
      op->getName().getAsOpaquePointer(), op->getAttrDictionary().getAsOpaquePointer(),
      // Whose manual axes cut nothing.
      op->getParentOfType<ManualOp>().getAsOpaquePointer(), asPart(std::bit_cast<uintptr_t>(reductionShare.share)),
      asPart(std::bit_cast<uintptr_t>(reductionShare.shareOfCut)), asPart(reductionShare.whole.size())};
  for (int64_t dim : reductionShare.whole)
    fixed.push_back(asPart(static_cast<uintptr_t>(dim)));
  fixed.push_back(typeOf(op->getResult(0)).withoutSharding().getAsOpaquePointer());
  std::vector<const void *> recipes;
  for (Value operand : op->getOperands()) {
    fixed.push_back(typeOf(operand).withoutSharding().getAsOpaquePointer());
    fixed.push_back(asPart(static_cast<uintptr_t>(getTripsPerForm(operand, op))));
    appendRecipe(operand, recipes, signature.ingredients);
  }
  signature.fixed = numberOf(std::move(fixed));
  signature.recipes = numberOf(std::move(recipes));
  signature.traits.candidates =
      candidates.try_emplace({signature.fixed, signature.recipes}, signature.traits.candidates).first->second;
  signatures.try_emplace(op, std::move(signature));
}

OperationKey KnownChoices::getKeyOfTypes(ShardingRuleOpInterface op, const OperationSignature &signature) const {
  OperationKey key{{signature.fixed, op->getResult(0).getType().getAsOpaquePointer()}};
  for (ShardingRuleOpInterface sharer : signature.traits.reductionShare.sharers) {
    spmd::Sharding summed;
    summed.unreduced = findPartialAxes(planner.getMesh(), sharer, signatures.at(sharer).traits.rule);
    key.parts.push_back(ShardingAttr::fromValue(op->getContext(), summed).getAsOpaquePointer());
  }
  for (Value operand : op->getOperands())
    key.parts.push_back(operand.getType().getAsOpaquePointer());
  return key;
}

void KnownChoices::addRecipes(const OperationSignature &signature, OperationKey &key) {
  key.parts.push_back(signature.recipes);
  for (Value value : signature.ingredients)
    key.parts.push_back(value.getType().getAsOpaquePointer());
}

OperationKey KnownChoices::getKey(ShardingRuleOpInterface op) const {
  const OperationSignature &signature = signatures.find(op)->second;
  OperationKey key = getKeyOfTypes(op, signature);
  addRecipes(signature, key);
  return key;
}

const OperationChoice &KnownChoices::choose(ShardingRuleOpInterface op, double &work) {
  const OperationSignature &signature = signatures.find(op)->second;
  // Operations that move elements look at those before them, too, and at others that do.
  if (signature.movesElements) {
    Forms none(planner, /*longestChain=*/0);
    auto windowsOf = [&](Operation *other) { return families.getWindows(other); };
    uncached = chooseAssignment(planner, none, windowsOf, op, signature.traits);
    work += getWork(uncached);
    return uncached;
  }
  OperationKey ofTypes = getKeyOfTypes(op, signature), key = ofTypes;
  addRecipes(signature, key);
  auto [entry, isNew] = choices.try_emplace(std::move(key));
  if (isNew) {
    entry->second = chooseAssignment(planner, op, signature.traits);
    work += (seen.insert(std::move(ofTypes)).second ? 1 : kWorkOfRecipe) * getWork(entry->second);
  }
  return entry->second;
}

} // namespace spmdc
