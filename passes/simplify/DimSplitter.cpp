//===- DimSplitter.cpp - one dimension written as several -----------------===//

#include "passes/simplify/DimSplitter.h"

#include "ir/spmd/SpmdOps.h"
#include "ir/spmd/ValueNames.h"
#include "passes/simplify/SplitAttributes.h"

using namespace mlir;

namespace spmdc {
namespace {

/// Reads through the reshape in front of this one, and replaces the uses of this one if it changes nothing.
void foldReshape(ReshapeOp op) {
  auto inner = op.getOperand().getDefiningOp<ReshapeOp>();
  if (inner && !inner.getType().getSharding())
    op.getOperandMutable().assign(inner.getOperand());
  ArrayType from = op.getOperand().getType(), to = op.getType();
  if (from.getShape() != to.getShape() || (to.getSharding() && from != to))
    return;
  moveValueNames(op, op.getOperand());
  op.replaceAllUsesWith(op.getOperand());
}

} // namespace

//===----------------------------------------------------------------------===//
// Finding the dimensions
//===----------------------------------------------------------------------===//

void DimSplitter::add(DimOfReshape dim) {
  std::optional<DimGroup> group = dim.ofResult ? getGroup(DimOfValue{dim.reshape.getResult(), dim.dim})
                                               : getGroup(DimOfUse{&dim.reshape.getOperandMutable(), dim.dim});
  if (group)
    addGroup(*group);
}

void DimSplitter::addGroup(const DimGroup &first) {
  SmallVector<DimGroup> open = {first};
  auto addTo = [](Dims &dims, int64_t dim) {
    if (llvm::is_contained(dims, dim))
      return false;
    dims.insert(llvm::lower_bound(dims, dim), dim);
    return true;
  };
  while (!open.empty()) {
    DimGroup group = open.pop_back_val();
    computed |= !group.isEnd && !group.uses.empty() && !isa<ReshapeOp>(group.uses.front().use->getOwner());
    for (DimOfValue dim : group.values) {
      Dims &dims = values[dim.value];
      if (dims.empty())
        found.push_back(dim.value);
      if (addTo(dims, dim.dim))
        for (OpOperand &use : dim.value.getUses())
          if (!llvm::is_contained(uses.lookup(&use), dim.dim))
            if (std::optional<DimGroup> next = getGroup(DimOfUse{&use, dim.dim}))
              open.push_back(*next);
    }
    for (DimOfUse dim : group.uses)
      if (addTo(uses[dim.use], dim.dim))
        if (!llvm::is_contained(values.lookup(dim.use->get()), dim.dim))
          if (std::optional<DimGroup> next = getGroup(DimOfValue{dim.use->get(), dim.dim}))
            open.push_back(*next);
  }
}

//===----------------------------------------------------------------------===//
// Splitting them
//===----------------------------------------------------------------------===//

ArrayType DimSplitter::splitType(ArrayType type, ArrayRef<int64_t> dims) const {
  SmallVector<int64_t> shape;
  SmallVector<DimShardingAttr> shardings;
  for (auto [dim, size] : llvm::enumerate(type.getShape())) {
    bool isSplit = llvm::is_contained(dims, static_cast<int64_t>(dim));
    if (isSplit)
      llvm::append_range(shape, parts);
    else
      shape.push_back(size);
    if (type.getSharding())
      shardings.append(isSplit ? parts.size() : 1, type.getSharding().getDims()[dim]);
  }
  if (!type.getSharding())
    return type.withShape(shape);
  return type.withShape(shape).withSharding(
      ShardingAttr::get(type.getContext(), shardings, type.getSharding().getUnreduced()));
}

void DimSplitter::rewrite(func::FuncOp func) {
  SmallVector<Operation *> touched;
  func.walk([&](Operation *op) {
    auto isSplit = [&](Value value) { return values.contains(value); };
    if (llvm::any_of(op->getOperands(), isSplit) || llvm::any_of(op->getResults(), isSplit) ||
        llvm::any_of(op->getOpOperands(), [&](OpOperand &use) { return uses.contains(&use); }))
      touched.push_back(op);
  });
  for (Value value : found) {
    before[value] = typeOf(value);
    value.setType(splitType(typeOf(value), values.lookup(value)));
  }
  SmallVector<ReshapeOp> reshapes;
  for (Operation *op : touched) {
    if (auto reshape = dyn_cast<ReshapeOp>(op))
      reshapes.push_back(reshape);
    rewriteOp(op);
  }
  llvm::append_range(reshapes, made);
  llvm::for_each(reshapes, foldReshape);
  // A reshape that another one reads through has a use until that one is erased.
  for (bool isAny = true; isAny;) {
    isAny = false;
    llvm::erase_if(reshapes, [&](ReshapeOp reshape) {
      if (!reshape->use_empty())
        return false;
      isAny = true;
      erased.insert(reshape);
      reshape.erase();
      return true;
    });
  }
}

std::optional<int64_t> DimSplitter::getNewDim(DimOfReshape dim) const {
  Dims dims = dim.ofResult ? values.lookup(dim.reshape.getResult()) : uses.lookup(&dim.reshape.getOperandMutable());
  if (llvm::is_contained(dims, dim.dim))
    return std::nullopt;
  return Renumbering(dims, parts).first(dim.dim);
}

void DimSplitter::adaptOperand(OpOperand &use) {
  Value value = use.get();
  Dims have = values.lookup(value), want = uses.lookup(&use);
  if (have == want)
    return;
  ArrayType merged = have.empty() ? typeOf(value) : before.lookup(value);
  // A value that is merged again keeps the annotations of its other dimensions: it may be a result of the function.
  ArrayType type = want.empty() ? merged : splitType(merged.withoutSharding(), want);
  Value &reshaped = adapted[{value, type}];
  if (!reshaped) {
    OpBuilder b(value.getContext());
    b.setInsertionPointAfterValue(value);
    made.push_back(b.create<ReshapeOp>(getUnannotatedLoc(getUnnamedLoc(value.getLoc())), type, value));
    reshaped = made.back();
  }
  use.set(reshaped);
}

void DimSplitter::rewriteOp(Operation *op) {
  SmallVector<Renumbering> operands;
  for (OpOperand &use : op->getOpOperands()) {
    operands.emplace_back(uses.lookup(&use), parts);
    adaptOperand(use);
  }
  // The results of loops and branches already have their new types.
  if (op->getNumResults() != 1 || op->getNumRegions() != 0)
    return;
  Value result = op->getResult(0);
  Value replacement = splitAttributes(op, operands, Renumbering(dimsOf(result), parts), parts);
  if (!replacement)
    return;
  moveValueNames(result, replacement);
  result.replaceAllUsesWith(replacement);
  Dims dims = dimsOf(result);
  ArrayType type = before.lookup(result);
  // A later operation may reuse the address of this one, so the address must not be a key.
  values.erase(result);
  before.erase(result);
  values[replacement] = dims;
  before[replacement] = type;
  op->erase();
}

} // namespace spmdc
