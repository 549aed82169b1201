//===- RangeBuilder.cpp - computes ranges of values -----------------------===//

#include "passes/restructure/RangeBuilder.h"

#include "passes/restructure/Concatenation.h"

#include "mlir/IR/IRMapping.h"

using namespace mlir;

namespace spmdc {
namespace {

bool isBefore(Operation *op, Operation *place) {
  Operation *around = op->getBlock()->findAncestorOpInBlock(*place);
  return around && op->isBeforeInBlock(around);
}

} // namespace

std::optional<DimRange> getDimRange(SliceOp slice) {
  ArrayRef<int64_t> shape = slice.getOperand().getType().getShape();
  std::optional<DimRange> part;
  for (auto [dim, start, limit, stride] : llvm::enumerate(slice.getStarts(), slice.getLimits(), slice.getStrides())) {
    if (stride != 1)
      return std::nullopt;
    if (start == 0 && limit == shape[dim])
      continue;
    if (part)
      return std::nullopt;
    part = DimRange{static_cast<int64_t>(dim), start, limit - start};
  }
  return part;
}

bool canTakeRanges(Operation *op) {
  return (isa<ElementwiseOpInterface, DotGeneralOp, ReduceOp, TransposeOp, BroadcastInDimOp, ReshapeOp>(op)) &&
         op->getNumResults() == 1 && isPure(op) && !op->hasAttr(kAnnotatedAttrName) && !isPerDevice(op);
}

void RangeBuilder::start(ArrayRef<Operation *> ops) {
  computed.clear();
  computed.insert(ops.begin(), ops.end());
  known.clear();
  built.clear();
  movers.clear();
  sources.clear();
}

void RangeBuilder::note(Operation *op, bool isMover) {
  built.push_back(op);
  if (isMover)
    movers.push_back(op);
}

Operation *RangeBuilder::clone(Operation *op, ArrayRef<Value> operands, ArrayType type) {
  IRMapping mapping;
  mapping.map(op->getOperands(), operands);
  Operation *copy = OpBuilder(op).clone(*op, mapping);
  copy->getResult(0).setType(type);
  copy->removeAttr(kAnnotatedAttrName);
  note(copy, /*isMover=*/false);
  return copy;
}

Value RangeBuilder::take(Value value, DimRange range, ArrayType type, Operation *user) {
  if (range.start == 0 && range.size == typeOf(value).getDimSize(range.dim))
    return value;
  Operation *op = value.getDefiningOp();
  if (!op || !computed.contains(op))
    return slice(value, range, type, user);
  auto [entry, isNew] = known.try_emplace({op, range.start});
  if (!isNew)
    return entry->second;
  Value part = compute(op, range, type);
  return known[{op, range.start}] = part;
}

Value RangeBuilder::compute(Operation *op, DimRange range, ArrayType type) {
  ShardingRule rule = cast<ShardingRuleOpInterface>(op).getShardingRule();
  const ValueFactors &result = rule.results[0];
  std::optional<int64_t> factor = findFactor(rule, result[range.dim]);
  std::optional<FactorRange> part = factor ? toFactorRange(rule, result, *factor, range) : std::nullopt;
  if (!part)
    return {};
  SmallVector<Value> operands;
  for (auto [operand, factors] : llvm::zip_equal(op->getOperands(), rule.operands)) {
    operands.push_back(operand);
    std::optional<DimRange> needed = toDimRange(rule, factors, *part);
    if (!needed)
      continue;
    std::optional<ArrayType> partType = getRangeType(getMesh(), rule, *part, factors, typeOf(operand), result, type);
    operands.back() = partType ? take(operand, *needed, *partType, op) : Value();
    if (!operands.back())
      return {};
  }
  return clone(op, operands, type)->getResult(0);
}

Value RangeBuilder::slice(Value value, DimRange range, ArrayType type, Operation *user) {
  Location loc = user->getLoc();
  if (auto constant = value.getDefiningOp<ConstantOp>(); constant && constant.getValue().isSplat()) {
    auto splat = cast<SplatElementsAttr>(constant.getValue()).resizeSplat(type.getTensorType());
    auto part = OpBuilder(user).create<ConstantOp>(loc, type, splat);
    note(part, /*isMover=*/false);
    return part;
  }
  if (std::optional<Concatenation> join = matchConcatenation(value); join && join->dim == range.dim)
    for (const Concatenation::Part &part : join->parts)
      if (int64_t start = range.start - part.start; start >= 0 && start + range.size <= part.getSize(range.dim))
        return take(part.value, {range.dim, start, range.size}, type, user);
  Operation *place = findReshardPlace(value, user);
  for (Operation *other : value.getUsers())
    if (auto known = dyn_cast<SliceOp>(other); known && known.getType() == type && isBefore(known, place))
      if (std::optional<DimRange> same = getDimRange(known);
          same && same->dim == range.dim && same->start == range.start)
        return known;
  SmallVector<int64_t> starts(type.getRank(), 0), limits(typeOf(value).getShape()), strides(type.getRank(), 1);
  starts[range.dim] = range.start;
  limits[range.dim] = range.start + range.size;
  auto part = OpBuilder(place).create<SliceOp>(loc, type, value, starts, limits, strides);
  note(part, /*isMover=*/true);
  sources.push_back(value);
  return part;
}

bool RangeBuilder::isBetterThan(ArrayRef<Operation *> others) {
  Price old = priceWithCurrentShardings(planner, runs, others);
  if (old.linkBytes == 0)
    return false;
  Price parts = priceWithCurrentShardings(planner, runs, movers);
  return parts.linkBytes < old.linkBytes && parts.isBetterThan(old);
}

void RangeBuilder::discard() {
  for (Operation *op : llvm::reverse(built))
    op->erase();
  start({});
}

} // namespace spmdc
