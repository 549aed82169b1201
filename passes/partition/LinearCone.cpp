//===- LinearCone.cpp - what lies between partial sums and their sum ------===//

#include "passes/partition/LinearCone.h"

#include "passes/partition/FactorAxes.h"
#include "passes/partition/Makers.h"

#include <cmath>

using namespace mlir;

namespace spmdc {
namespace {

ArrayType typeOf(Value value) { return cast<ArrayType>(value.getType()); }

ArrayRef<AxisRefAttr> unreducedOf(ArrayType type) {
  return type.getSharding() ? type.getSharding().getUnreduced() : ArrayRef<AxisRefAttr>();
}

/// A reshard that reduces all of its partial sums.
ReshardOp getReduction(Value value) {
  auto reshard = value.getDefiningOp<ReshardOp>();
  bool isReduction =
      reshard && !unreducedOf(typeOf(reshard.getOperand())).empty() && unreducedOf(reshard.getType()).empty();
  return isReduction ? reshard : ReshardOp();
}

/// Whether the operation is a collective that a person wrote, along a manual axis, and linear in its operand.
bool isLinearCollective(Operation *op) {
  if (auto reduce = dyn_cast<AllReduceOp>(op))
    return reduce.getKind() == ReductionKind::sum;
  if (auto scatter = dyn_cast<ReduceScatterOp>(op))
    return scatter.getKind() == ReductionKind::sum;
  return isa<AllGatherOp, AllSliceOp, AllToAllOp, CollectivePermuteOp>(op);
}

/// Whether a value can be made in any sharding: a number, everywhere the same.
bool isSplat(Value value) {
  if (auto constant = value.getDefiningOp<ConstantOp>())
    return constant.getValue().isSplat();
  auto broadcast = value.getDefiningOp<BroadcastInDimOp>();
  return broadcast && typeOf(broadcast.getOperand()).getRank() == 0;
}

/// Operations of a cone, and values that are looked at for where partial sums may come from. Beyond that, what is one
/// counts as whole, and its reductions stay: the way up from every sum would take as long as the program is.
constexpr size_t kMostOperations = 256;

/// Whether products and quotients of partial sums are those of the sum, whatever these are. A factor that is infinite,
/// or 0 below, makes NaN of zeros, and one that is large makes infinities of numbers that cancel each other.
bool isLinearIn(Operation *op, unsigned term) {
  if (isa<IntegerType>(typeOf(op->getResult(0)).getElementType()))
    return isa<MultiplyOp>(op); // Products wrap around.
  Value factor = op->getOperand(1 - term);
  while (auto broadcast = factor.getDefiningOp<BroadcastInDimOp>())
    factor = broadcast.getOperand();
  auto constant = factor.getDefiningOp<ConstantOp>();
  if (!constant || !constant.getValue().isSplat() || (isa<DivideOp>(op) && term != 0))
    return false;
  constexpr double kLarge = 65536;
  double size = std::abs(constant.getValue().getSplatValue<APFloat>().convertToDouble());
  return isa<MultiplyOp>(op) ? size <= kLarge : size >= 1 / kLarge && std::isfinite(size);
}

/// Whether each number of the one type is one of the other: sums in a narrower one would be others.
bool holdsAll(ConvertOp op) {
  auto from = dyn_cast<FloatType>(op.getOperand().getType().getElementType());
  auto to = dyn_cast<FloatType>(op.getType().getElementType());
  if (!from || !to)
    return false;
  const llvm::fltSemantics &before = from.getFloatSemantics(), &after = to.getFloatSemantics();
  return APFloat::semanticsPrecision(before) <= APFloat::semanticsPrecision(after) &&
         APFloat::semanticsMaxExponent(before) <= APFloat::semanticsMaxExponent(after);
}

} // namespace

std::optional<unsigned> getUpdate(Operation *op) {
  if (isa<DynamicUpdateSliceOp>(op))
    return 1;
  return isa<ScatterAddOp, ScatterAddAlongOp>(op) ? std::optional(2U) : std::nullopt;
}

Value LinearCone::getOrigin(Value value) {
  auto reshard = value.getDefiningOp<ReshardOp>();
  bool isOnlyHere = reshard && reshard->hasOneUse() && unreducedOf(typeOf(reshard.getOperand())).empty();
  return isOnlyHere ? reshard.getOperand() : value;
}

void LinearCone::eraseUnused(Value value) {
  if (auto reshard = value.getDefiningOp<ReshardOp>(); reshard && reshard->use_empty())
    reshard->erase();
}

Value LinearCone::createPartial(Operation *before, Value value, ArrayType type) {
  OpBuilder builder(before);
  value = getOrigin(value);
  if (!isZero(value))
    return builder.create<ReshardOp>(value.getLoc(), type, value, StringAttr());
  Operation *constant = builder.clone(*value.getDefiningOp());
  constant->getResult(0).setType(type);
  return constant->getResult(0);
}

bool LinearCone::collectOps(Value value) {
  if (value == carry || isZero(value))
    return true;
  if (ReshardOp reduction = getReduction(value))
    return agrees(unreducedOf(typeOf(reduction.getOperand()))) && (reductions.insert(reduction), true);
  Operation *op = value.getDefiningOp();
  if (!op || op->getBlock() != block || (!unreducedOf(typeOf(value)).empty() && !maySum(op)))
    return false;
  if (ops.contains(op))
    return true;
  if (ops.size() >= kMostOperations || (op != last && isUsedOutside(op)))
    return false;
  Member member;
  member.terms = listTerms(op);
  auto collectTerm = [&](unsigned term) {
    Value operand = op->getOperand(term);
    return isWhole(operand) || collectOps(operand);
  };
  if (member.terms.empty() || !llvm::all_of(member.terms, collectTerm))
    return false;
  members[op] = std::move(member);
  ops.insert(op);
  return true;
}

bool LinearCone::agrees(ArrayRef<AxisRefAttr> others) {
  if (axes.empty())
    axes.assign(others.begin(), others.end());
  return ArrayRef(axes) == others;
}

void LinearCone::assumeCarry() {
  if (!carry)
    return;
  spmd::Sharding sharding = typeOf(carry).getShardingOrOpen().toValue();
  size_t erased = 0;
  for (AxisRefAttr axis : axes) {
    for (AxisList &dim : sharding.dims)
      erased += std::erase_if(dim, [&](const spmd::AxisRef &other) { return overlap({other}, {axis.toValue()}); });
    sharding.unreduced.push_back(axis.toValue());
  }
  if (erased > 0)
    carryType = typeOf(carry).withSharding(ShardingAttr::fromValue(carry.getContext(), sharding));
}

ArrayType LinearCone::getPartialType(Value value) const {
  if (value == carry)
    return carryType;
  if (ReshardOp reduction = getReduction(value))
    return reduction.getOperand().getType();
  auto member = members.find(value.getDefiningOp());
  return member == members.end() ? ArrayType() : member->second.result;
}

bool LinearCone::findTypes(Operation *op) {
  Member &member = members[op];
  auto ruled = dyn_cast<ShardingRuleOpInterface>(op);
  if (!ruled)
    return false;
  ShardingRule rule = ruled.getShardingRule();
  MLIRContext *context = op->getContext();
  // Terms that are partial sums already say how the factors are cut; a zero and the carry follow.
  std::optional<FactorAxes> cut;
  bool isMoved = false;
  for (unsigned term : member.terms) {
    ArrayType type = getPartialType(op->getOperand(term));
    if (!type)
      continue;
    spmd::Sharding lies = type.getShardingOrOpen().toValue();
    isMoved |= lies.dims != typeOf(op->getOperand(term)).getShardingOrOpen().toValue().dims;
    FactorAxes of = projectToFactors(mesh, rule, rule.operands[term], lies);
    std::optional<spmd::Sharding> kept = shardingOf(mesh, rule, rule.operands[term], of);
    if (isMoved && (!kept || kept->dims != lies.dims || (cut && *cut != of)))
      return false;
    cut = std::move(of);
  }
  // Otherwise all lies as before, and the operation is known to run so.
  for (Value operand : op->getOperands())
    member.operands.push_back(typeOf(operand));
  member.result = typeOf(op->getResult(0));
  // It would send more.
  if (isMoved && isLinearCollective(op))
    return false;
  if (isMoved) {
    AxisList summed;
    for (auto [factor, list] : llvm::zip(rule.factors, *cut)) {
      if (factor.kind == FactorKind::Reduction && maySum(op))
        llvm::append_range(summed, list);
      else if (factor.kind != FactorKind::PassThrough && !list.empty())
        return false;
    }
    for (auto [index, operand] : llvm::enumerate(op->getOperands())) {
      std::optional<spmd::Sharding> sharding = shardingOf(mesh, rule, rule.operands[index], *cut);
      bool isTerm = llvm::is_contained(member.terms, index);
      bool isFixed = !isTerm && typeOf(operand).getRank() > 0 && !isSplat(operand);
      if (!sharding || (isFixed && sharding->dims != typeOf(operand).getShardingOrOpen().toValue().dims))
        return false;
      member.operands[index] = typeOf(operand).withSharding(ShardingAttr::fromValue(context, *sharding));
    }
    std::optional<spmd::Sharding> sharding = shardingOf(mesh, rule, rule.results[0], *cut);
    if (!sharding)
      return false;
    sharding->unreduced = summed;
    member.result = member.result.withSharding(ShardingAttr::fromValue(context, *sharding));
  }
  // What is cut over an axis is no partial sum over it.
  AxisList summed;
  for (AxisRefAttr axis : axes)
    summed.push_back(axis.toValue());
  auto mayBePartial = [&](ArrayType type) {
    spmd::Sharding sharding = type.getShardingOrOpen().toValue();
    return !overlap(sharding.unreduced, summed) &&
           llvm::none_of(sharding.dims, [&](const AxisList &dim) { return overlap(dim, summed); });
  };
  if (!mayBePartial(member.result) ||
      !llvm::all_of(member.terms, [&](unsigned term) { return mayBePartial(member.operands[term]); }))
    return false;
  auto toPartial = [&](ArrayType type) {
    ShardingAttr sharding = ShardingAttr::fromValue(context, type.getShardingOrOpen().toValue());
    SmallVector<AxisRefAttr> all(sharding.getUnreduced());
    all.append(axes);
    return type.withSharding(ShardingAttr::get(context, sharding.getDims(), all));
  };
  for (unsigned term : member.terms) {
    member.operands[term] = toPartial(member.operands[term]);
    if (op->getOperand(term) != carry)
      continue;
    if (carryType && carryType != member.operands[term])
      return false;
    carryType = member.operands[term];
  }
  member.result = toPartial(member.result);
  return true;
}

bool LinearCone::isClosed(Operation *last, Operation *end) const {
  auto isInside = [&](Operation *user) { return ops.contains(user) || user == end; };
  for (Operation *op : ops)
    if (op != last && !llvm::all_of(op->getUsers(), [&](Operation *user) { return ops.contains(user); }))
      return false;
  return !carry || (llvm::all_of(carry.getUsers(), isInside) && !llvm::is_contained(carry.getUsers(), end));
}

std::string LinearCone::why(StringRef end) const {
  StringRef first = cast<ReshardOp>(reductions.front()).getWhy().value_or("");
  first = first.take_until([](char c) { return c == ';'; });
  return (first + (first.empty() ? "" : "; ") + end).str();
}

void LinearCone::rewrite() {
  for (Operation *op : ops) {
    const Member &member = members[op];
    for (OpOperand &operand : op->getOpOperands()) {
      Value value = operand.get();
      ArrayType wanted = member.operands[operand.getOperandNumber()];
      if (reductions.contains(value.getDefiningOp())) {
        operand.set(value.getDefiningOp()->getOperand(0));
      } else if (value.getType() == wanted || value == carry || ops.contains(value.getDefiningOp())) {
        continue;
      } else if (llvm::is_contained(member.terms, operand.getOperandNumber())) {
        operand.set(createPartial(op, value, wanted));
        eraseUnused(value);
      } else { // A number by which is multiplied.
        Operation *number = OpBuilder(op).clone(*value.getDefiningOp());
        number->getResult(0).setType(wanted);
        operand.set(number->getResult(0));
      }
    }
    op->getResult(0).setType(member.result);
  }
  for (Operation *reduction : reductions)
    if (reduction->use_empty())
      reduction->erase();
}

SmallVector<unsigned> LinearCone::listTerms(Operation *op) const {
  if (isa<NegateOp, TransposeOp, ReshapeOp, SliceOp, ReverseOp, BroadcastInDimOp, DynamicSliceOp>(op) ||
      isLinearCollective(op))
    return {0};
  if (isa<AddOp, SubtractOp, DynamicUpdateSliceOp>(op))
    return {0, 1};
  if (isa<ScatterAddOp, ScatterAddAlongOp>(op))
    return {0, 2};
  if (isa<SelectOp>(op))
    return {1, 2};
  if (isa<ConcatenateOp>(op))
    return llvm::to_vector(llvm::seq<unsigned>(0, op->getNumOperands()));
  if (auto reduce = dyn_cast<ReduceOp>(op); reduce && reduce.getKind() == ReductionKind::sum)
    return {0};
  if (isa<MultiplyOp, DivideOp>(op)) { // By what is no partial sum.
    bool isLeft = mayBePartial(op->getOperand(0)), isRight = mayBePartial(op->getOperand(1));
    if (isLeft != isRight && isLinearIn(op, isLeft ? 0 : 1))
      return {isLeft ? 0U : 1U};
  }
  if (auto convert = dyn_cast<ConvertOp>(op); convert && holdsAll(convert))
    return {0};
  return {};
}

bool LinearCone::mayBePartial(Value value) const {
  if (value == carry || getReduction(value))
    return true;
  Operation *op = value.getDefiningOp();
  if (!op || op->getBlock() != block || !unreducedOf(typeOf(value)).empty())
    return false;
  if (auto entry = known.find(value); entry != known.end())
    return entry->second;
  if (known.size() >= kMostOperations)
    return false;
  known[value] = false;
  bool isPartial = llvm::any_of(listTerms(op), [&](unsigned term) { return mayBePartial(op->getOperand(term)); });
  return known[value] = isPartial;
}

bool LinearCone::isUsedOutside(Operation *op) const {
  return llvm::any_of(op->getUsers(),
                      [&](Operation *user) { return user->getBlock() != block || listTerms(user).empty(); });
}

bool LinearCone::isWhole(Value value) const {
  return unreducedOf(typeOf(value)).empty() && !isZero(value) && !mayBePartial(value);
}

llvm::SetVector<std::pair<Value, ArrayType>> LinearCone::listWholes() const {
  llvm::SetVector<std::pair<Value, ArrayType>> wholes;
  for (Operation *op : ops) {
    const Member &member = members.at(op);
    for (unsigned term : member.terms)
      if (isWhole(op->getOperand(term)))
        wholes.insert({op->getOperand(term), member.operands[term]});
  }
  return wholes;
}

} // namespace spmdc
