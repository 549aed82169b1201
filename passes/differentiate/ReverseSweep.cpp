//===- ReverseSweep.cpp - cotangents from results to arguments ------------===//

#include "passes/differentiate/ReverseSweep.h"

#include "ir/spmd/Location.h"

using namespace mlir;

namespace spmdc {

Location getDerivativeLoc(Operation *op) { return getBackwardLoc(getUnnamedLoc(op->getLoc())); }

void eraseDead(Block &block) {
  for (Operation &op : llvm::make_early_inc_range(llvm::reverse(block))) {
    if (isOpTriviallyDead(&op)) {
      op.erase();
      continue;
    }
    for (Region &region : op.getRegions())
      for (Block &inner : region)
        eraseDead(inner);
  }
}

VaryingAxes::Axes Derivative::missing(const VaryingAxes::Axes &axes, Value value) const {
  VaryingAxes::Axes result = axes;
  if (varying)
    for (const std::string &axis : varying->of(value))
      result.erase(axis);
  return result;
}

VaryingAxes::Axes Derivative::missing(Value varied, Value value) const {
  return varying ? missing(varying->of(varied), value) : VaryingAxes::Axes();
}

static bool isZero(Value value) {
  auto constant = value.getDefiningOp<ConstantOp>();
  return constant && constant.getValue().isSplat() && constant.getValue().getSplatValue<APFloat>().isZero();
}

/// If both cotangents have the same constraint, their sum gets it once: reducing two partial sums sends twice the bytes
/// of reducing their sum. A window in an array of zeros is added to the other addend in place.
Value createSum(OpBuilder &builder, Value x, Value y) {
  Location loc = y.getLoc();
  ArrayType type = cast<ArrayType>(x.getType()).withoutSharding();
  if (auto update = y.getDefiningOp<DynamicUpdateSliceOp>(); update && isZero(update.getOperand())) {
    Value window = update.getUpdate();
    auto windowType = cast<ArrayType>(window.getType()).withoutSharding();
    Value old = builder.create<DynamicSliceOp>(loc, windowType, x, update.getStarts(),
                                               SmallVector<int64_t>(windowType.getShape()));
    Value sum = builder.create<AddOp>(loc, windowType, old, window);
    return builder.create<DynamicUpdateSliceOp>(loc, type, x, sum, update.getStarts());
  }
  if (auto scatter = y.getDefiningOp<ScatterAddOp>(); scatter && isZero(scatter.getOperand()))
    return builder.create<ScatterAddOp>(loc, type, x, scatter.getIndices(), scatter.getUpdates(), scatter.getDim());
  auto left = x.getDefiningOp<ConstraintOp>(), right = y.getDefiningOp<ConstraintOp>();
  if (left && right && left.getType() == right.getType())
    return builder.create<ConstraintOp>(
        loc, left.getType(), builder.create<AddOp>(loc, type, left.getOperand(), right.getOperand()).getResult(),
        left.getDerived() && right.getDerived());
  return builder.create<AddOp>(loc, type, x, y);
}

void ReverseSweep::add(OpBuilder &builder, Value value, Value cotangent, const Axes &axes) {
  if (!derivative.activity.isActive(value))
    return;
  Value &sum = cotangents[value][axes];
  sum = sum ? createSum(builder, sum, cotangent) : cotangent;
}

Value ReverseSweep::getCotangent(OpBuilder &builder, Value value) {
  auto found = cotangents.find(value);
  if (found == cotangents.end())
    return {};
  Value sum;
  for (auto &[axes, part] : found->second) {
    Value reduced = axes.empty() ? part : reduceOver(builder, part, axes);
    sum = sum ? createSum(builder, sum, reduced) : reduced;
  }
  found->second = Parts{{Axes(), sum}};
  return sum;
}

SmallVector<ReverseSweep::Contribution> ReverseSweep::listOutside(Region &region) const {
  SmallVector<Contribution> result;
  for (const auto &[value, parts] : cotangents) {
    Region *home = Value(value).getParentRegion(); // Null for a value of a replaced operation of the region.
    if (home && !region.isAncestor(home))
      for (const auto &[axes, part] : parts)
        result.push_back({value, axes, part});
  }
  return result;
}

LogicalResult ReverseSweep::run(Block &block, OpBuilder &builder, Operation *behind) {
  SmallVector<Operation *> ops;
  for (Operation &op : llvm::make_range(behind ? std::next(behind->getIterator()) : block.begin(), block.end()))
    ops.push_back(&op);
  for (Operation *op : llvm::reverse(ops)) {
    bool isAny = llvm::any_of(op->getResults(), [&](Value result) { return isReached(result); });
    if (isAny && failed(differentiate(op, builder)))
      return failure();
  }
  return success();
}

LogicalResult ReverseSweep::differentiate(Operation *op, OpBuilder &builder) {
  if (auto checkpoint = dyn_cast<CheckpointOp>(op))
    return differentiateCheckpoint(checkpoint, builder);
  if (auto branch = dyn_cast<IfOp>(op))
    return differentiateIf(branch, builder);
  if (auto loop = dyn_cast<ForOp>(op))
    return differentiateFor(loop, builder);
  if (auto manual = dyn_cast<ManualOp>(op))
    return differentiateManual(manual, builder);
  if (auto gather = dyn_cast<AllGatherOp>(op))
    return differentiateGather(gather, builder), success();
  if (auto slice = dyn_cast<AllSliceOp>(op); slice && differentiateSlice(slice, builder))
    return success();
  if (isa<WhileOp>(op))
    return op->emitError()
           << "'while' has no derivative: how often it runs is not known before it runs, so there is no "
              "room for the values that the backward pass needs; use 'for' with constant bounds, and "
              "keep the carries with where once it is done";
  auto differentiable = dyn_cast<DifferentiableOpInterface>(op);
  if (!differentiable)
    return op->emitError() << "'" << op->getName().stripDialect() << "' has no derivative";
  SmallVector<bool> isNeeded;
  for (Value operand : op->getOperands())
    isNeeded.push_back(derivative.activity.isActive(operand));
  Axes axes = derivative.varying ? derivative.varying->ofOperands(op) : Axes();
  SmallVector<Value> built =
      differentiable.buildCotangents(builder, getDerivativeLoc(op), getCotangent(builder, op->getResult(0)), isNeeded);
  if (built.empty())
    return op->emitError() << "'" << op->getName().stripDialect() << "' of this kind has no derivative";
  for (auto [operand, cotangent] : llvm::zip(op->getOperands(), built))
    if (cotangent)
      add(builder, operand, cotangent, derivative.missing(axes, operand));
  return success();
}

} // namespace spmdc
