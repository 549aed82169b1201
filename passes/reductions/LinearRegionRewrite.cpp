//===- LinearRegionRewrite.cpp - makes a linear region unreduced ----------===//

#include "passes/reductions/LinearRegion.h"

#include "ir/array/PartialSums.h"
#include "ir/spmd/Location.h"

using namespace mlir;

namespace spmdc {

void LinearRegion::eraseUnused(Value value) {
  if (auto reshard = value.getDefiningOp<ReshardOp>(); reshard && reshard->use_empty())
    reshard->erase();
}

Value LinearRegion::createPartial(Operation *before, Value value, ArrayType type) {
  OpBuilder builder(before);
  value = getOrigin(value);
  if (!isZero(value))
    return builder.create<ReshardOp>(value.getLoc(), type, value, StringAttr());
  return makeZeros(builder, value, type);
}

Value LinearRegion::toElementType(Operation *before, Value value, ArrayType type) {
  ArrayType from = typeOf(value);
  if (from.getElementType() == type.getElementType())
    return value;
  OpBuilder builder(before);
  return builder.create<ConvertOp>(getUnannotatedLoc(value.getLoc()), from.withElementType(type.getElementType()),
                                   value);
}

void LinearRegion::rewrite(Operation *end) {
  reduceInBranches();
  auto isPartialAlready = [&](Value value) {
    return value == carry || (value.getDefiningOp() && ops.contains(value.getDefiningOp()));
  };
  for (Operation *op : ops) {
    const Member &member = members[op];
    for (auto [term, type] : llvm::zip_equal(member.terms, member.termTypes)) {
      Value value = term->get();
      if (reductions.contains(value.getDefiningOp())) {
        term->set(toElementType(term->getOwner(), value.getDefiningOp()->getOperand(0), type));
      } else if (!isPartialAlready(value)) {
        term->set(createPartial(term->getOwner(), value, type));
        eraseUnused(value);
      }
    }
    for (auto [operand, type] : member.others) {
      if (operand->get().getType() == type)
        continue;
      OpBuilder builder(op);
      Value made =
          rematerialize(builder, mesh, operand->get(), type.withElementType(typeOf(operand->get()).getElementType()));
      operand->set(toElementType(op, made, type));
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

/// Reduces each escape in its branch, in front of the first operation that uses it there.
void LinearRegion::reduceInBranches() {
  for (auto [value, ifBranch] : escapes) {
    auto isInBranch = [&, ifBranch = ifBranch](OpOperand &use) {
      return !isInside(use) && getIfBranch(use) == ifBranch;
    };
    Operation *first = nullptr;
    for (OpOperand &use : value.getUses())
      if (isInBranch(use))
        if (Operation *user = ifBranch->findAncestorOpInBlock(*use.getOwner()); !first || user->isBeforeInBlock(first))
          first = user;
    auto reduced = OpBuilder(first).create<ReshardOp>(
        getUnannotatedLoc(first->getLoc()), typeOf(value), value,
        StringAttr::get(first->getContext(), why("a branch reduces the partial sums that it uses otherwise")));
    value.replaceUsesWithIf(reduced, [&](OpOperand &use) { return use.getOwner() != reduced && isInBranch(use); });
  }
}

} // namespace spmdc
