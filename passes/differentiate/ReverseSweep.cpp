//===- ReverseSweep.cpp - cotangents from results to arguments ------------===//

#include "passes/differentiate/ReverseSweep.h"

#include "ir/array/ArrayOps.h"

#include "mlir/IR/IRMapping.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;

namespace spmdc {

Location getDerivativeLoc(Operation *op) {
  Location loc = op->getLoc();
  if (auto named = dyn_cast<NameLoc>(loc))
    loc = named.getChildLoc();
  // The expression, then where the name stands.
  if (auto fused = dyn_cast<FusedLoc>(loc))
    if (auto kind = dyn_cast_if_present<StringAttr>(fused.getMetadata()); kind && kind.getValue() == "let")
      loc = fused.getLocations().front();
  return loc;
}

SmallVector<Value> getCaptured(Region &region) {
  llvm::SmallSetVector<Value, 8> captured;
  region.walk([&](Operation *op) {
    for (Value operand : op->getOperands())
      if (!region.isAncestor(operand.getParentRegion()))
        captured.insert(operand);
  });
  return captured.takeVector();
}

/// x + y. Where both are constrained alike, the sum is, once: reducing two partial sums takes twice the traffic of
/// reducing their sum.
static Value createSum(OpBuilder &builder, Value x, Value y) {
  Location loc = y.getLoc();
  ArrayType type = cast<ArrayType>(x.getType()).withoutSharding();
  auto left = x.getDefiningOp<ConstraintOp>(), right = y.getDefiningOp<ConstraintOp>();
  if (left && right && left.getType() == right.getType())
    return builder.create<ConstraintOp>(
        loc, left.getType(), builder.create<AddOp>(loc, type, left.getOperand(), right.getOperand()).getResult());
  return builder.create<AddOp>(loc, type, x, y);
}

void ReverseSweep::add(OpBuilder &builder, Value value, Value cotangent) {
  if (!activity.isActive(value))
    return;
  Value &sum = cotangents[value];
  sum = sum ? createSum(builder, sum, cotangent) : cotangent;
}

LogicalResult ReverseSweep::run(Block &block, OpBuilder &builder) {
  SmallVector<Operation *> ops;
  for (Operation &op : block)
    ops.push_back(&op);
  for (Operation *op : llvm::reverse(ops)) {
    bool isReached = llvm::any_of(op->getResults(), [&](Value result) { return getCotangent(result) != nullptr; });
    if (isReached && failed(differentiate(op, builder)))
      return failure();
  }
  return success();
}

LogicalResult ReverseSweep::differentiate(Operation *op, OpBuilder &builder) {
  if (isa<CheckpointOp>(op))
    return differentiateCheckpoint(op, builder);
  auto differentiable = dyn_cast<DifferentiableOpInterface>(op);
  if (!differentiable)
    return op->emitError() << "'" << op->getName().stripDialect() << "' has no derivative";
  SmallVector<bool> isNeeded;
  for (Value operand : op->getOperands())
    isNeeded.push_back(activity.isActive(operand));
  SmallVector<Value> built =
      differentiable.buildCotangents(builder, getDerivativeLoc(op), getCotangent(op->getResult(0)), isNeeded);
  for (auto [operand, cotangent] : llvm::zip(op->getOperands(), built))
    if (cotangent)
      add(builder, operand, cotangent);
  return success();
}

/// Computes the body again, from barriers around what it uses, and differentiates that. Both are one checkpoint, so
/// that a derivative of this derivative keeps nothing of it either.
LogicalResult ReverseSweep::differentiateCheckpoint(Operation *op, OpBuilder &builder) {
  auto body = std::make_unique<Region>();
  Block &block = body->emplaceBlock();
  OpBuilder inner(builder.getContext());
  inner.setInsertionPointToEnd(&block);
  Location loc = getDerivativeLoc(op);

  IRMapping mapping;
  Activity innerActivity;
  SmallVector<std::pair<Value, Value>> copies; // Active captured values, and what stands for them in the body.
  for (Value value : getCaptured(op->getRegion(0))) {
    if (value.getDefiningOp<ConstantOp>())
      continue;
    auto type = cast<ArrayType>(value.getType()).withoutSharding();
    Value barrier = inner.create<OptimizationBarrierOp>(loc, type, value);
    mapping.map(value, barrier);
    if (activity.isActive(value)) {
      innerActivity.addArgument(barrier);
      copies.emplace_back(value, barrier);
    }
  }
  Block &forward = op->getRegion(0).front();
  for (Operation &inside : forward.without_terminator())
    inner.clone(inside, mapping);
  innerActivity.follow(block);
  ReverseSweep sweep(innerActivity);
  for (auto [result, yielded] : llvm::zip(op->getResults(), forward.getTerminator()->getOperands()))
    if (Value cotangent = getCotangent(result))
      sweep.add(inner, mapping.lookupOrDefault(yielded), cotangent);
  if (failed(sweep.run(block, inner)))
    return failure();

  SmallVector<Value> targets, yielded;
  SmallVector<Type> types;
  for (auto [value, copy] : copies)
    if (Value cotangent = sweep.getCotangent(copy)) {
      targets.push_back(value);
      yielded.push_back(cotangent);
      types.push_back(cast<ArrayType>(cotangent.getType()).withoutSharding());
    }
  inner.create<YieldOp>(loc, yielded);
  OperationState state(loc, CheckpointOp::getOperationName());
  state.addTypes(types);
  state.addRegion(std::move(body));
  Operation *backward = builder.create(state);
  for (auto [value, result] : llvm::zip(targets, backward->getResults()))
    add(builder, value, result);
  return success();
}

} // namespace spmdc
