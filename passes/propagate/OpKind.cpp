//===- OpKind.cpp - the order in which operations propagate ---------------===//

#include "passes/propagate/OpKind.h"

#include "llvm/ADT/BitVector.h"
#include "llvm/ADT/STLExtras.h"

namespace spmdc {
namespace {

llvm::BitVector getFactorsOf(const ShardingRule &rule, llvm::ArrayRef<DimFactors> value) {
  llvm::BitVector factors(rule.factors.size());
  for (const DimFactors &dim : value)
    for (int64_t factor : dim)
      factors.set(factor);
  return factors;
}

int64_t getElements(const ShardingRule &rule, const llvm::BitVector &factors) {
  int64_t elements = 1;
  for (int64_t factor : factors.set_bits())
    if (rule.factors[factor].kind != FactorKind::ManualShards)
      elements *= rule.factors[factor].size;
  return elements;
}

llvm::BitVector onlyOfKind(const ShardingRule &rule, llvm::BitVector factors, FactorKind kind) {
  for (auto [index, factor] : llvm::enumerate(rule.factors))
    if (factor.kind != kind)
      factors.reset(index);
  return factors;
}

} // namespace

OpKind::OpKind(const ShardingRule &rule) {
  if (rule.operands.empty() || rule.results.empty())
    return;
  bool isAllPassThrough =
      llvm::all_of(rule.factors, [](const Factor &factor) { return factor.kind == FactorKind::PassThrough; });
  const ValueFactors &first = rule.results.front();
  auto isLikeFirst = [&](const ValueFactors &value) { return value == first; };
  isElementwise = isAllPassThrough && llvm::all_of(rule.operands, isLikeFirst) &&
                  llvm::all_of(rule.results, isLikeFirst) &&
                  llvm::all_of(first, [](const DimFactors &dim) { return dim.size() == 1; });

  llvm::BitVector result = getFactorsOf(rule, first);
  llvm::BitVector resultPassThrough = onlyOfKind(rule, result, FactorKind::PassThrough);
  bool hasReduction =
      llvm::any_of(rule.factors, [](const Factor &factor) { return factor.kind == FactorKind::Reduction; });
  isPassThrough = !hasReduction && llvm::all_of(rule.operands, [&](const ValueFactors &operand) {
    llvm::BitVector factors = getFactorsOf(rule, operand);
    return onlyOfKind(rule, factors, FactorKind::PassThrough) == resultPassThrough &&
           getElements(rule, factors) == getElements(rule, result);
  });

  if (rule.operands.size() == 1 && isAllPassThrough) {
    llvm::BitVector operand = getFactorsOf(rule, rule.operands.front());
    isBroadcast = operand != result && !operand.test(result); // a proper subset of the result's factors
  }
}

namespace {

/// The direction without regard to barriers.
Direction getOwnDirection(const OpKind &kind, const Factor &factor, const OpSurroundings &surroundings,
                          unsigned stage) {
  if (factor.kind == FactorKind::NeedReplication)
    return Direction::None;
  if (kind.isPassThrough && (stage >= 1 || !surroundings.hasSharedOperand))
    return surroundings.shrinks && stage < 2 ? Direction::Forward : Direction::Both;
  if (kind.isBroadcast && stage < 4)
    return stage >= 2 ? Direction::Backward : Direction::None;
  if (stage >= 3 || (stage == 2 && factor.kind == FactorKind::PassThrough))
    return Direction::Both;
  return Direction::None;
}

} // namespace

Direction getDirection(const OpKind &kind, const Factor &factor, const OpSurroundings &surroundings, unsigned stage) {
  auto own = static_cast<unsigned>(getOwnDirection(kind, factor, surroundings, stage));
  return static_cast<Direction>(own & static_cast<unsigned>(surroundings.allowed));
}

} // namespace spmdc
