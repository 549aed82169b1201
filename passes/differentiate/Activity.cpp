//===- Activity.cpp - what depends on the arguments of a derivative -------===//

#include "passes/differentiate/Activity.h"

#include "ir/array/ArrayOps.h"

using namespace mlir;

namespace spmdc {

static bool isFloat(Value value) {
  auto type = dyn_cast<ArrayType>(value.getType());
  return type && isa<FloatType>(type.getElementType());
}

void Activity::addArgument(Value argument) { markIf(argument, true); }

void Activity::markIf(Value value, bool isActive) {
  if (isActive && isFloat(value))
    active.insert(value);
}

void Activity::follow(Block &block) {
  for (Operation &op : block)
    follow(&op);
}

void Activity::follow(Operation *op) {
  if (isa<CheckpointOp>(op)) {
    Block &body = op->getRegion(0).front();
    follow(body);
    for (auto [result, yielded] : llvm::zip(op->getResults(), body.getTerminator()->getOperands()))
      markIf(result, isActive(yielded));
    return;
  }
  if (op->hasTrait<ZeroDerivative>())
    return;
  // What loops and branches use from outside counts as their operands do.
  bool isReached = op->walk([&](Operation *inside) {
                       bool isAny =
                           llvm::any_of(inside->getOperands(), [&](Value operand) { return isActive(operand); });
                       return isAny ? WalkResult::interrupt() : WalkResult::advance();
                     }).wasInterrupted();
  for (Value result : op->getResults())
    markIf(result, isReached);
}

} // namespace spmdc
