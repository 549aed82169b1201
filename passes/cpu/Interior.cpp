//===- Interior.cpp - ranges of lanes without bounds checks ---------------===//

#include "passes/cpu/Interior.h"

#include "passes/kernel/Shapes.h"

using namespace mlir;

namespace spmdc {

void LaneReads::add(Value value, ArrayRef<IndexExpr> index) {
  std::pair<Value, std::vector<IndexExpr>> key{value, index.vec()};
  if (!body.contains(value) || llvm::is_contained(seen, key))
    return;
  seen.push_back(std::move(key));
  Operation *op = value.getDefiningOp();
  if (isa<ElementwiseOpInterface>(op)) {
    for (Value operand : op->getOperands())
      add(operand, index);
    return;
  }
  if (auto concatenate = dyn_cast<ConcatenateOp>(op))
    return addConcatenate(concatenate, index);
  if (!isIndexOp(op) || isa<DynamicUpdateSliceOp>(op))
    return;
  MappedIndex mapped = indexing.map(op, index);
  if (isa<PadOp>(op))
    for (const IndexGuard &guard : mapped.guards)
      addGuard(guard, 0.5);
  add(op->getOperand(0), mapped.index);
}

void LaneReads::addConcatenate(ConcatenateOp op, ArrayRef<IndexExpr> index) {
  size_t from = 0, to = op.getNumOperands(); // The operands that lanes may read.
  if (index[op.getDim()].isConstant()) {
    auto [operand, place] = findPart(op, index[op.getDim()].constant);
    Index part(index);
    part[op.getDim()] = place;
    return add(operand, part);
  }
  for (size_t count = 1; count < op.getNumOperands(); ++count) {
    IndexGuard guard = indexing.getFirstParts(op, index, count);
    bool countsLanes = guard.expr.terms.size() == 1 && guard.expr.coefficientOf(lane) == 1;
    if (!countsLanes) {
      // If operands have equal sizes, none is the one that most elements read.
      if (guard.expr.coefficientOf(lane) == 0)
        addGuard(guard, 0.75);
      continue;
    }
    int64_t border = guard.high - guard.expr.constant;
    if (last <= border || first >= border) {
      known.push_back({guard, last <= border});
      if (last <= border)
        to = std::min(to, count);
      else
        from = count;
    } else {
      borders.insert(llvm::lower_bound(borders, border), border);
      borders.erase(std::unique(borders.begin(), borders.end()), borders.end());
    }
  }
  int64_t offset = 0;
  for (auto [number, operand] : llvm::enumerate(op.getOperands())) {
    Index part(index);
    part[op.getDim()] = indexing.space.add(part[op.getDim()], -offset);
    if (from <= number && number < to)
      add(operand, part);
    offset += cast<ArrayType>(operand.getType()).getDimSize(op.getDim());
  }
}

void LaneReads::addGuard(const IndexGuard &guard, double share) {
  IndexExpr rest = guard.expr;
  llvm::erase_if(rest.terms, [&](auto &term) { return term.first == lane; });
  int64_t factor = guard.expr.coefficientOf(lane);
  IndexRange range = indexing.space.rangeOf(guard.expr);
  auto all = static_cast<double>(range.high + 1 - range.low);
  auto inside = static_cast<double>(std::min(range.high + 1, guard.high) - std::max(range.low, guard.low));
  IndexAssumption assumption{guard, 2 * inside >= all};
  bool isOfRange = factor == 0 || (std::abs(factor) == 1 && assumption.holds);
  if (isOfRange && std::max(inside, all - inside) >= share * all && !indexing.space.dependsOn(rest, lane) &&
      !llvm::is_contained(interior, assumption))
    interior.push_back(assumption);
}

} // namespace spmdc
