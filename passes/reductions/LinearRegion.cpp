//===- LinearRegion.cpp - linear operations on partial sums ---------------===//

#include "passes/reductions/LinearRegion.h"

#include "ir/array/PartialSums.h"
#include "passes/sharding/Rematerialization.h"

using namespace mlir;

namespace spmdc {
namespace {

ArrayRef<AxisRefAttr> unreducedOf(ArrayType type) {
  return type.getSharding() ? type.getSharding().getUnreduced() : ArrayRef<AxisRefAttr>();
}

/// The most operations of a region, and values that `mayBePartial` examines. Beyond that, values count as replicated
/// terms and their reductions stay. Without a limit, the search from every sum could visit the entire program.
constexpr size_t kMaxOperations = 256;

} // namespace

ReshardOp LinearRegion::getReduction(Value value) {
  auto reshard = value.getDefiningOp<ReshardOp>();
  bool isReduction =
      reshard && !unreducedOf(typeOf(reshard.getOperand())).empty() && unreducedOf(reshard.getType()).empty();
  return isReduction ? reshard : ReshardOp();
}

Value LinearRegion::getOrigin(Value value) {
  auto reshard = value.getDefiningOp<ReshardOp>();
  bool isOnlyHere = reshard && reshard->hasOneUse() && unreducedOf(typeOf(reshard.getOperand())).empty();
  return isOnlyHere ? reshard.getOperand() : value;
}

bool LinearRegion::isWithin(Operation *op) const {
  while (op->getBlock() != block) {
    op = op->getParentOp();
    if (!isa_and_nonnull<IfOp>(op))
      return false;
  }
  return true;
}

bool LinearRegion::collectOps(Value value) {
  if (value == carry || isZero(value))
    return true;
  if (ReshardOp reduction = getReduction(value))
    return agrees(unreducedOf(typeOf(reduction.getOperand())))
               ? (reductions.insert(reduction), true)
               : refuse(reduction.getOperand().getDefiningOp(), "a partial sum is over other axes");
  Operation *op = value.getDefiningOp();
  if (!op || !isWithin(op))
    return refuse(op, "a term is computed outside of the block");
  if (!unreducedOf(typeOf(value)).empty() && !maySum(op))
    return refuse(op, "a term is unreduced already");
  if (ops.contains(op))
    return getValue(op) == value || refuse(op, "two results of one operation are terms");
  if (ops.size() >= kMaxOperations)
    return refuse(op, "the linear region has too many operations");
  if (op != last && isUsedOutside(value))
    return refuse(op, "a term has users that are not linear");
  Member member;
  member.result = cast<OpResult>(value).getResultNumber();
  member.terms = listTerms(value);
  auto collectTerm = [&](OpOperand *term) { return isReplicatedTerm(term->get()) || collectOps(term->get()); };
  if (member.terms.empty())
    return refuse(op, "an operation is not linear in partial sums");
  if (!llvm::all_of(member.terms, collectTerm))
    return false;
  members[op] = std::move(member);
  return ops.insert(op);
}

bool LinearRegion::agrees(ArrayRef<AxisRefAttr> others) {
  if (axes.empty())
    axes.assign(others.begin(), others.end());
  return ArrayRef(axes) == others;
}

bool LinearRegion::collect(Value value) {
  last = value.getDefiningOp();
  if (!collectOps(value))
    return false;
  isWide = addsUp();
  return llvm::any_of(listCarryTypes(), [&](ArrayType ofCarry) { return findAllTypes(value, ofCarry); });
}

bool LinearRegion::addsUp() const {
  return llvm::any_of(reductions,
                      [](Operation *reduction) {
                        return typeOf(reduction->getOperand(0)).getElementType() !=
                               typeOf(reduction->getResult(0)).getElementType();
                      }) ||
         llvm::any_of(ops, combinesElements);
}

Block *LinearRegion::getIfBranch(OpOperand &use) {
  Block *ifBranch = nullptr;
  for (Block *inner = use.getOwner()->getBlock(); inner != use.get().getParentBlock();
       inner = inner->getParentOp()->getBlock()) {
    if (!isa<IfOp>(inner->getParentOp()))
      return nullptr;
    ifBranch = inner;
  }
  return ifBranch;
}

bool LinearRegion::isInside(OpOperand &use) const {
  Operation *user = use.getOwner();
  if (isa<YieldOp>(user)) {
    auto branch = members.find(user->getParentOp());
    return branch != members.end() && isa<IfOp>(user->getParentOp()) && branch->second.result == use.getOperandNumber();
  }
  return ops.contains(user) && !isa<IfOp>(user);
}

/// Whether the use is a reshard to the type that the value gets in the region.
bool LinearRegion::isEntry(OpOperand &use) const {
  return isa<ReshardOp>(use.getOwner()) && use.getOwner()->getResult(0).getType() == getPartialType(use.get());
}

bool LinearRegion::isClosedAt(Value value, Operation *end) {
  for (OpOperand &use : value.getUses()) {
    if (isInside(use) || use.getOwner() == end)
      continue;
    if (isEntry(use)) {
      entries.insert(use.getOwner());
      continue;
    }
    Block *ifBranch = getIfBranch(use);
    if (!ifBranch)
      return refuse(use.getOwner(), "the partial sum has another user");
    if (Escape escape{value, ifBranch}; !llvm::is_contained(escapes, escape))
      escapes.push_back(escape);
  }
  return true;
}

bool LinearRegion::isClosed(Operation *end) {
  for (Operation *op : ops)
    if ((op != last || end) && !isClosedAt(getValue(op), op == last ? end : nullptr))
      return false;
  return !carry || isClosedAt(carry, nullptr);
}

double LinearRegion::getShare(Block *inner) const {
  double share = 1;
  for (; inner != block && isa<IfOp>(inner->getParentOp()); inner = inner->getParentOp()->getBlock())
    share *= runs.getShare(inner).value_or(0.5);
  return share;
}

std::string LinearRegion::why(StringRef end) const {
  StringRef first = cast<ReshardOp>(reductions.front()).getWhy().value_or("");
  first = first.take_until([](char c) { return c == ';'; });
  return (first + (first.empty() ? "" : "; ") + end).str();
}

SmallVector<OpOperand *> LinearRegion::listTerms(Value value) const {
  Operation *op = value.getDefiningOp();
  SmallVector<OpOperand *> terms;
  if (auto branch = dyn_cast<IfOp>(op)) {
    for (Region &ifBranch : branch->getRegions())
      terms.push_back(&ifBranch.front().getTerminator()->getOpOperand(cast<OpResult>(value).getResultNumber()));
    return terms;
  }
  for (unsigned number : listLinear(op, [&](Value operand) { return mayBePartial(operand); }))
    terms.push_back(&op->getOpOperand(number));
  return terms;
}

bool LinearRegion::mayBePartial(Value value) const {
  if (value == carry || getReduction(value))
    return true;
  Operation *op = value.getDefiningOp();
  if (!op || !isWithin(op) || !unreducedOf(typeOf(value)).empty())
    return false;
  if (auto entry = known.find(value); entry != known.end())
    return entry->second;
  if (known.size() >= kMaxOperations)
    return false;
  known[value] = false;
  known[value] = llvm::any_of(listTerms(value), [&](OpOperand *term) { return mayBePartial(term->get()); });
  if (known[value] && op != last && isUsedOutside(value))
    known[value] = false;
  return known[value];
}

bool LinearRegion::isUsedOutside(Value value) const {
  return llvm::any_of(value.getUses(), [&](OpOperand &use) {
    Operation *user = use.getOwner();
    if (user->getBlock() != value.getParentBlock())
      return !getIfBranch(use);
    if (isa<YieldOp>(user))
      return user->getBlock() == block; // Then it is the loop's yield.
    if (isa<ReshardOp>(user))
      return unreducedOf(typeOf(user->getResult(0))).empty(); // An unreduced result may make it an entry.
    return user->getNumResults() != 1 || isa<IfOp>(user) || listTerms(user->getResult(0)).empty();
  });
}

bool LinearRegion::isReplicatedTerm(Value value) const {
  return unreducedOf(typeOf(value)).empty() && !isZero(value) && !mayBePartial(value);
}

SmallVector<LinearRegion::ReplicatedTerm> LinearRegion::listReplicatedTerms() const {
  SmallVector<ReplicatedTerm> replicatedTerms;
  for (Operation *op : ops) {
    const Member &member = members.at(op);
    for (auto [term, type] : llvm::zip_equal(member.terms, member.termTypes))
      if (ReplicatedTerm replicated{term->get(), term->getOwner()->getBlock(), type};
          isReplicatedTerm(replicated.value) && !llvm::is_contained(replicatedTerms, replicated))
        replicatedTerms.push_back(replicated);
  }
  return replicatedTerms;
}

SmallVector<LinearRegion::RematReshard> LinearRegion::listRematReshards() const {
  SmallVector<RematReshard> remats;
  for (Operation *op : ops)
    for (auto [operand, type] : members.at(op).others)
      if (auto moves = listReshardsToRematerialize(mesh, operand->get(), type))
        for (const ShardingPair &move : *moves)
          remats.push_back({op->getBlock(), move});
  return remats;
}

} // namespace spmdc
