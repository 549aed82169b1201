//===- Activity.cpp - the values that a derivative flows through ----------===//

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
  if (isa<CheckpointOp, IfOp, ForOp, WhileOp, ManualOp>(op))
    return followRegions(op);
  if (op->hasTrait<ZeroDerivative>() ||
      llvm::none_of(op->getOperands(), [&](Value operand) { return isActive(operand); }))
    return;
  for (Value result : op->getResults())
    markIf(result, true);
}

/// The results of branches and bodies are what they yield; a loop's carries are visited until no more become active.
void Activity::followRegions(Operation *op) {
  bool isLoop = isa<LoopLikeOpInterface>(op);
  size_t before;
  do {
    before = active.size();
    for (Region &region : op->getRegions()) {
      size_t carried = std::min<size_t>(region.getNumArguments(), op->getNumOperands());
      for (auto [argument, operand] : llvm::zip(region.getArguments().take_back(carried), op->getOperands()))
        markIf(argument, isActive(operand));
      follow(region.front());
      bool isCondition = isa<WhileOp>(op) && &region != &op->getRegions().back();
      if (!isCondition)
        for (auto [result, yielded] : llvm::zip(op->getResults(), region.front().getTerminator()->getOperands()))
          markIf(result, isActive(yielded));
    }
    if (isLoop)
      for (Region &region : op->getRegions())
        for (auto [argument, init, result] :
             llvm::zip(region.getArguments().take_back(op->getNumResults()), op->getOperands(), op->getResults())) {
          markIf(result, isActive(init));
          markIf(argument, isActive(result));
        }
  } while (isLoop && active.size() != before);
}

} // namespace spmdc
