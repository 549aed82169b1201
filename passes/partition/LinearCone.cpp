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

bool LinearCone::isWithin(Operation *op) const {
  while (op->getBlock() != block) {
    op = op->getParentOp();
    if (!isa_and_nonnull<IfOp>(op))
      return false;
  }
  return true;
}

bool LinearCone::collectOps(Value value) {
  if (value == carry || isZero(value))
    return true;
  if (ReshardOp reduction = getReduction(value))
    return agrees(unreducedOf(typeOf(reduction.getOperand()))) && (reductions.insert(reduction), true);
  Operation *op = value.getDefiningOp();
  if (!op || !isWithin(op) || (!unreducedOf(typeOf(value)).empty() && !maySum(op)))
    return false;
  if (ops.contains(op))
    return getValue(op) == value;
  if (ops.size() >= kMostOperations || (op != last && isUsedOutside(value)))
    return false;
  Member member;
  member.result = cast<OpResult>(value).getResultNumber();
  member.terms = listTerms(value);
  auto collectTerm = [&](OpOperand *term) { return isWhole(term->get()) || collectOps(term->get()); };
  if (member.terms.empty() || !llvm::all_of(member.terms, collectTerm))
    return false;
  members[op] = std::move(member);
  return ops.insert(op);
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
  return member == members.end() || getValue(member->first) != value ? ArrayType() : member->second.type;
}

/// What is cut over an axis is no partial sum over it.
bool LinearCone::canBePartial(ArrayType type) const {
  AxisList summed;
  for (AxisRefAttr axis : axes)
    summed.push_back(axis.toValue());
  spmd::Sharding sharding = type.getShardingOrOpen().toValue();
  return !overlap(sharding.unreduced, summed) &&
         llvm::none_of(sharding.dims, [&](const AxisList &dim) { return overlap(dim, summed); });
}

ArrayType LinearCone::toPartial(ArrayType type) const {
  ShardingAttr sharding = ShardingAttr::fromValue(type.getContext(), type.getShardingOrOpen().toValue());
  SmallVector<AxisRefAttr> all(sharding.getUnreduced());
  all.append(axes);
  return type.withSharding(ShardingAttr::get(type.getContext(), sharding.getDims(), all));
}

bool LinearCone::findTypes(Operation *op) {
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

/// All arms yield the same: what one of them says, or, where none does, what it was.
bool LinearCone::findBranchTypes(Operation *op) {
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

bool LinearCone::findRuledTypes(Operation *op) {
  Member &member = members[op];
  auto ruled = dyn_cast<ShardingRuleOpInterface>(op);
  if (!ruled)
    return false;
  ShardingRule rule = ruled.getShardingRule();
  MLIRContext *context = op->getContext();
  // Terms that are partial sums already say how the factors are cut; a zero and the carry follow.
  std::optional<FactorAxes> cut;
  bool isMoved = false;
  for (OpOperand *term : member.terms) {
    ArrayType type = getPartialType(term->get());
    if (!type)
      continue;
    const ValueFactors &factors = rule.operands[term->getOperandNumber()];
    spmd::Sharding lies = type.getShardingOrOpen().toValue();
    isMoved |= lies.dims != typeOf(term->get()).getShardingOrOpen().toValue().dims;
    FactorAxes of = projectToFactors(mesh, rule, factors, lies);
    std::optional<spmd::Sharding> kept = shardingOf(mesh, rule, factors, of);
    if (isMoved && (!kept || kept->dims != lies.dims || (cut && *cut != of)))
      return false;
    cut = std::move(of);
  }
  // It would send more.
  if (isMoved && isLinearCollective(op))
    return false;
  // Otherwise all lies as before, and the operation is known to run so.
  member.type = typeOf(getValue(op));
  if (isMoved) {
    AxisList summed;
    for (auto [factor, list] : llvm::zip(rule.factors, *cut)) {
      if (factor.kind == FactorKind::Reduction && maySum(op))
        llvm::append_range(summed, list);
      else if (factor.kind != FactorKind::PassThrough && !list.empty())
        return false;
    }
    std::optional<spmd::Sharding> sharding = shardingOf(mesh, rule, rule.results[0], *cut);
    if (!sharding)
      return false;
    sharding->unreduced = summed;
    member.type = member.type.withSharding(ShardingAttr::fromValue(context, *sharding));
  }
  for (OpOperand &operand : op->getOpOperands()) {
    ArrayType type = typeOf(operand.get());
    bool isTerm = llvm::is_contained(member.terms, &operand);
    if (isMoved) {
      std::optional<spmd::Sharding> sharding = shardingOf(mesh, rule, rule.operands[operand.getOperandNumber()], *cut);
      bool isFixed = !isTerm && type.getRank() > 0 && !isSplat(operand.get());
      if (!sharding || (isFixed && sharding->dims != type.getShardingOrOpen().toValue().dims))
        return false;
      type = type.withSharding(ShardingAttr::fromValue(context, *sharding));
    }
    if (!isTerm)
      member.others.emplace_back(&operand, type);
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

//===----------------------------------------------------------------------===//
// Who uses it
//===----------------------------------------------------------------------===//

/// The arm around a use of a value that is defined outside of it; the outermost one. Null where something else than
/// arms is around it, or nothing.
static Block *getArm(OpOperand &use) {
  Block *arm = nullptr;
  for (Block *inner = use.getOwner()->getBlock(); inner != use.get().getParentBlock();
       inner = inner->getParentOp()->getBlock()) {
    if (!isa<IfOp>(inner->getParentOp()))
      return nullptr;
    arm = inner;
  }
  return arm;
}

bool LinearCone::isInside(OpOperand &use) const {
  Operation *user = use.getOwner();
  if (isa<YieldOp>(user)) {
    auto branch = members.find(user->getParentOp());
    return branch != members.end() && isa<IfOp>(user->getParentOp()) && branch->second.result == use.getOperandNumber();
  }
  return ops.contains(user) && !isa<IfOp>(user);
}

/// Whether that makes the value what it becomes.
bool LinearCone::isEntry(OpOperand &use) const {
  return isa<ReshardOp>(use.getOwner()) && use.getOwner()->getResult(0).getType() == getPartialType(use.get());
}

bool LinearCone::isClosedAt(Value value, Operation *end) {
  for (OpOperand &use : value.getUses()) {
    if (isInside(use) || use.getOwner() == end)
      continue;
    if (isEntry(use)) {
      entries.insert(use.getOwner());
      continue;
    }
    Block *arm = getArm(use);
    if (!arm)
      return false;
    if (Escape escape{value, arm}; !llvm::is_contained(escapes, escape))
      escapes.push_back(escape);
  }
  return true;
}

bool LinearCone::isClosed(Operation *end) {
  for (Operation *op : ops)
    if ((op != last || end) && !isClosedAt(getValue(op), op == last ? end : nullptr))
      return false;
  return !carry || isClosedAt(carry, nullptr);
}

double LinearCone::getShare(Block *inner) const {
  double share = 1;
  for (; inner != block && isa<IfOp>(inner->getParentOp()); inner = inner->getParentOp()->getBlock())
    share *= runs.getShare(inner).value_or(0.5);
  return share;
}

std::string LinearCone::why(StringRef end) const {
  StringRef first = cast<ReshardOp>(reductions.front()).getWhy().value_or("");
  first = first.take_until([](char c) { return c == ';'; });
  return (first + (first.empty() ? "" : "; ") + end).str();
}

void LinearCone::rewrite(Operation *end) {
  reduceInArms();
  auto isPartialAlready = [&](Value value) {
    return value == carry || (value.getDefiningOp() && ops.contains(value.getDefiningOp()));
  };
  for (Operation *op : ops) {
    const Member &member = members[op];
    for (auto [term, type] : llvm::zip_equal(member.terms, member.termTypes)) {
      Value value = term->get();
      if (reductions.contains(value.getDefiningOp())) {
        term->set(value.getDefiningOp()->getOperand(0));
      } else if (!isPartialAlready(value)) {
        term->set(createPartial(term->getOwner(), value, type));
        eraseUnused(value);
      }
    }
    for (auto [operand, type] : member.others) {
      if (operand->get().getType() == type)
        continue;
      // A number by which is multiplied.
      Operation *number = OpBuilder(op).clone(*operand->get().getDefiningOp());
      number->getResult(0).setType(type);
      operand->set(number->getResult(0));
    }
    getValue(op).setType(member.type);
  }
  if (end && reductions.contains(last))
    end->replaceUsesOfWith(last->getResult(0), last->getOperand(0));
  for (Operation *entry : entries) {
    entry->getResult(0).replaceAllUsesWith(entry->getOperand(0));
    entry->erase();
  }
  for (Operation *reduction : reductions)
    if (reduction->use_empty())
      reduction->erase();
}

/// In front of the first operation that needs it.
void LinearCone::reduceInArms() {
  for (auto [value, arm] : escapes) {
    auto isOfArm = [&, arm = arm](OpOperand &use) { return !isInside(use) && getArm(use) == arm; };
    Operation *first = nullptr;
    for (OpOperand &use : value.getUses())
      if (isOfArm(use))
        if (Operation *user = arm->findAncestorOpInBlock(*use.getOwner()); !first || user->isBeforeInBlock(first))
          first = user;
    auto reduced = OpBuilder(first).create<ReshardOp>(
        first->getLoc(), typeOf(value), value,
        StringAttr::get(first->getContext(), why("an arm of a branch reduces what it needs of them")));
    value.replaceUsesWithIf(reduced, [&](OpOperand &use) { return use.getOwner() != reduced && isOfArm(use); });
  }
}

//===----------------------------------------------------------------------===//
// What is linear
//===----------------------------------------------------------------------===//

/// The numbers of the operands in which an operation is linear; of a product that which `mayBePartial`.
static SmallVector<unsigned> listLinear(Operation *op, function_ref<bool(Value)> mayBePartial) {
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

SmallVector<OpOperand *> LinearCone::listTerms(Value value) const {
  Operation *op = value.getDefiningOp();
  SmallVector<OpOperand *> terms;
  if (auto branch = dyn_cast<IfOp>(op)) {
    for (Region &arm : branch->getRegions())
      terms.push_back(&arm.front().getTerminator()->getOpOperand(cast<OpResult>(value).getResultNumber()));
    return terms;
  }
  for (unsigned number : listLinear(op, [&](Value operand) { return mayBePartial(operand); }))
    terms.push_back(&op->getOpOperand(number));
  return terms;
}

bool LinearCone::mayBePartial(Value value) const {
  if (value == carry || getReduction(value))
    return true;
  Operation *op = value.getDefiningOp();
  if (!op || !isWithin(op) || !unreducedOf(typeOf(value)).empty())
    return false;
  if (auto entry = known.find(value); entry != known.end())
    return entry->second;
  if (known.size() >= kMostOperations)
    return false;
  known[value] = false;
  known[value] = llvm::any_of(listTerms(value), [&](OpOperand *term) { return mayBePartial(term->get()); });
  if (known[value] && op != last && isUsedOutside(value))
    known[value] = false;
  return known[value];
}

bool LinearCone::isUsedOutside(Value value) const {
  return llvm::any_of(value.getUses(), [&](OpOperand &use) {
    Operation *user = use.getOwner();
    if (user->getBlock() != value.getParentBlock())
      return !getArm(use);
    if (isa<YieldOp>(user))
      return user->getBlock() == block; // The loop's.
    if (isa<ReshardOp>(user))
      return unreducedOf(typeOf(user->getResult(0))).empty(); // Perhaps an entry.
    return user->getNumResults() != 1 || isa<IfOp>(user) || listTerms(user->getResult(0)).empty();
  });
}

bool LinearCone::isWhole(Value value) const {
  return unreducedOf(typeOf(value)).empty() && !isZero(value) && !mayBePartial(value);
}

SmallVector<LinearCone::Whole> LinearCone::listWholes() const {
  SmallVector<Whole> wholes;
  for (Operation *op : ops) {
    const Member &member = members.at(op);
    for (auto [term, type] : llvm::zip_equal(member.terms, member.termTypes))
      if (Whole whole{term->get(), term->getOwner()->getBlock(), type};
          isWhole(whole.value) && !llvm::is_contained(wholes, whole))
        wholes.push_back(whole);
  }
  return wholes;
}

} // namespace spmdc
