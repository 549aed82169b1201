//===- LinearRegionTypes.cpp - unreduced types in a linear region ---------===//

#include "passes/reductions/LinearRegion.h"

#include "ir/spmd/ReducePrecision.h"
#include "passes/sharding/FactorAxes.h"

using namespace mlir;

namespace spmdc {

SmallVector<ArrayType> LinearRegion::listCarryTypes() const {
  if (!carry)
    return {ArrayType()};
  ArrayType type = typeOf(carry);
  spmd::Sharding sharding = type.getShardingOrOpen().toValue();
  size_t erased = 0;
  for (AxisRefAttr axis : axes) {
    for (AxisRefs &dim : sharding.dims)
      erased += std::erase_if(dim, [&](const spmd::AxisRef &other) { return overlap({other}, {axis.toValue()}); });
    sharding.unreduced.push_back(axis.toValue());
  }
  type = widened(type);
  SmallVector<ArrayType> types;
  if (erased > 0)
    types.push_back(type.withSharding(ShardingAttr::fromValue(carry.getContext(), sharding)));
  types.push_back({});
  for (Operation *reduction : reductions)
    if (ArrayType partial = widened(typeOf(reduction->getOperand(0)));
        partial.getShape() == type.getShape() && !llvm::is_contained(types, partial))
      types.push_back(partial);
  return types;
}

bool LinearRegion::findAllTypes(Value value, ArrayType ofCarry) {
  carryType = ofCarry;
  for (Operation *op : ops) {
    Member &member = members[op];
    member.termTypes.clear();
    member.others.clear();
    member.type = {};
    if (!findTypes(op))
      return false;
  }
  ArrayType type = getPartialType(value);
  if (!carryType) // No operation of the region adds to the carry.
    carryType = type;
  return !carry || carryType == type;
}

ArrayType LinearRegion::getPartialType(Value value) const {
  if (value == carry)
    return carryType;
  if (ReshardOp reduction = getReduction(value))
    return widened(reduction.getOperand().getType());
  auto member = members.find(value.getDefiningOp());
  return member == members.end() || getValue(member->first) != value ? ArrayType() : member->second.type;
}

/// A value cannot be sharded and unreduced over the same axis.
bool LinearRegion::canBePartial(ArrayType type) const {
  AxisRefs summed;
  for (AxisRefAttr axis : axes)
    summed.push_back(axis.toValue());
  spmd::Sharding sharding = type.getShardingOrOpen().toValue();
  return !overlap(sharding.unreduced, summed) &&
         llvm::none_of(sharding.dims, [&](const AxisRefs &dim) { return overlap(dim, summed); });
}

ArrayType LinearRegion::toPartial(ArrayType type) const {
  ShardingAttr sharding = ShardingAttr::fromValue(type.getContext(), type.getShardingOrOpen().toValue());
  SmallVector<AxisRefAttr> all(sharding.getUnreduced());
  all.append(axes);
  return widened(type.withSharding(ShardingAttr::get(type.getContext(), sharding.getDims(), all)));
}

ArrayType LinearRegion::widened(ArrayType type) const {
  return isWide ? withPartialSums(block->getParentOp(), type) : type;
}

bool LinearRegion::findTypes(Operation *op) {
  if (isa<IfOp>(op) ? !findBranchTypes(op) : !findRuledTypes(op))
    return false;
  const Member &member = members[op];
  for (auto [term, type] : llvm::zip_equal(member.terms, member.termTypes)) {
    if (term->get() != carry)
      continue;
    if (carryType && carryType != type)
      return false;
    carryType = type;
  }
  return true;
}

/// All branches yield one type: that of a branch that yields a partial sum, or the unreduced form of the old type.
bool LinearRegion::findBranchTypes(Operation *op) {
  Member &member = members[op];
  for (OpOperand *term : member.terms) {
    ArrayType type = getPartialType(term->get());
    if (type && member.type && type != member.type)
      return false;
    if (type)
      member.type = type;
  }
  if (!member.type) {
    ArrayType type = typeOf(getValue(op));
    if (!canBePartial(type))
      return false;
    member.type = toPartial(type);
  }
  member.termTypes.assign(member.terms.size(), member.type);
  return true;
}

bool LinearRegion::findRuledTypes(Operation *op) {
  Member &member = members[op];
  auto ruled = dyn_cast<ShardingRuleOpInterface>(op);
  if (!ruled)
    return false;
  ShardingRule rule = ruled.getShardingRule();
  MLIRContext *context = op->getContext();
  // The terms that are partial sums already determine the axes of the factors; zeros and the carry follow them.
  std::optional<FactorAxes> factorAxes;
  bool isMoved = false;
  for (OpOperand *term : member.terms) {
    ArrayType type = getPartialType(term->get());
    if (!type)
      continue;
    const ValueFactors &factors = rule.operands[term->getOperandNumber()];
    spmd::Sharding termSharding = type.getShardingOrOpen().toValue();
    isMoved |= termSharding.dims != typeOf(term->get()).getShardingOrOpen().toValue().dims;
    FactorAxes of = projectToFactors(mesh, rule, factors, termSharding);
    std::optional<spmd::Sharding> kept = shardingOf(mesh, rule, factors, of);
    if (isMoved && (!kept || kept->dims != termSharding.dims || (factorAxes && *factorAxes != of)))
      return false;
    factorAxes = std::move(of);
  }
  // A collective of the user would send more in another sharding.
  if (isMoved && isLinearCollective(op))
    return false;
  // If nothing is resharded, all shardings stay, and the operation is known to run with them.
  member.type = typeOf(getValue(op));
  if (isMoved) {
    AxisRefs summed;
    for (auto [factor, list] : llvm::zip(rule.factors, *factorAxes)) {
      if (factor.kind == FactorKind::Reduction && maySum(op))
        llvm::append_range(summed, list);
      else if (factor.kind != FactorKind::PassThrough && !list.empty())
        return false;
    }
    std::optional<spmd::Sharding> sharding = shardingOf(mesh, rule, rule.results[0], *factorAxes);
    if (!sharding)
      return false;
    sharding->unreduced = summed;
    member.type = member.type.withSharding(ShardingAttr::fromValue(context, *sharding));
  }
  for (OpOperand &operand : op->getOpOperands()) {
    ArrayType type = typeOf(operand.get());
    bool isTerm = llvm::is_contained(member.terms, &operand);
    if (isMoved) {
      std::optional<spmd::Sharding> sharding =
          shardingOf(mesh, rule, rule.operands[operand.getOperandNumber()], *factorAxes);
      if (!sharding)
        return false;
      bool isElsewhere = sharding->dims != type.getShardingOrOpen().toValue().dims;
      type = type.withSharding(ShardingAttr::fromValue(context, *sharding));
      if (!isTerm && isElsewhere && !listReshardsToRematerialize(mesh, operand.get(), type))
        return false;
    }
    if (!isTerm) // Factors get the terms' element type; types of conditions and positions never change.
      member.others.emplace_back(&operand, widened(type));
    else if (canBePartial(type))
      member.termTypes.push_back(toPartial(type));
    else
      return false;
  }
  if (!canBePartial(member.type))
    return false;
  member.type = toPartial(member.type);
  return true;
}

} // namespace spmdc
