//===- Residuals.cpp - forward values that the backward pass needs --------===//

#include "passes/differentiate/Residuals.h"

#include "ir/array/ArrayOps.h"

#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace mlir;

namespace spmdc {

/// Whether recomputing costs no more than reading a stored value.
static bool isCheap(Operation *op) {
  if (op->getNumRegions() || op->getNumResults() != 1 || !isPure(op))
    return false;
  if (isa<ElementwiseOpInterface>(op) && cast<ArrayType>(op->getResult(0).getType()).getRank() == 0)
    return true;
  return isa<ConstantOp, IotaOp, BroadcastInDimOp, ReshapeOp, TransposeOp, SliceOp, ReverseOp, ConvertOp, CompareOp,
             ConstraintOp, AxisIndexOp, DynamicSliceOp>(op);
}

/// Whether the operand determines the result and is no larger, so that storing the operand is better.
static bool isDeterminedByOperand(Operation *op) {
  if (isa<BroadcastInDimOp, ReshapeOp, TransposeOp, ReverseOp, ConstraintOp>(op))
    return true;
  auto convert = dyn_cast<ConvertOp>(op);
  return convert && convert.getOperand().getType().getBytes() <= convert.getType().getBytes();
}

Residuals::Residuals(Block &forward, Block &backward, const IRMapping &known)
    : forward(forward), backward(backward), available(known) {
  backward.walk<WalkOrder::PreOrder>([&](Operation *op) {
    for (Value operand : op->getOperands())
      need(operand);
  });
}

bool Residuals::isRecomputable(Value value) {
  if (!isInside(value) || available.contains(value))
    return true;
  auto [known, isNew] = recomputable.try_emplace(value, false);
  if (!isNew)
    return known->second;
  Operation *op = value.getDefiningOp();
  bool result =
      op && isCheap(op) && llvm::all_of(op->getOperands(), [&](Value operand) { return isRecomputable(operand); });
  return recomputable[value] = result;
}

void Residuals::need(Value value) {
  if (!isInside(value) || available.contains(value) || recomputed.contains(value) || llvm::is_contained(kept, value))
    return;
  Operation *op = value.getDefiningOp();
  if (!isRecomputable(value) && !(op && isDeterminedByOperand(op)))
    return kept.push_back(value);
  recomputed.insert(value);
  for (Value operand : op->getOperands())
    need(operand);
}

Value Residuals::materialize(OpBuilder &builder, Value value, Read read) {
  if (!isInside(value))
    return value;
  if (Value known = available.lookupOrNull(value))
    return known;
  if (recomputed.contains(value)) {
    Operation *op = value.getDefiningOp();
    for (Value operand : op->getOperands())
      materialize(builder, operand, read);
    builder.clone(*op, available); // Also maps the result.
    return available.lookup(value);
  }
  Value result = read(builder, llvm::find(kept, value) - kept.begin());
  // The copy gets the sharding that the type of the value specifies.
  if (result.getType() != value.getType())
    result = builder.create<ConstraintOp>(value.getLoc(), cast<ArrayType>(value.getType()), result);
  available.map(value, result);
  return result;
}

void Residuals::substitute(Read read) {
  for (Operation &op : llvm::make_early_inc_range(backward)) {
    OpBuilder builder(&op);
    op.walk<WalkOrder::PreOrder>([&](Operation *inner) {
      for (OpOperand &operand : inner->getOpOperands())
        if (isInside(operand.get()))
          operand.set(materialize(builder, operand.get(), read));
    });
  }
}

} // namespace spmdc
