//===- Liveness.cpp - from when to when a value is needed -----------------===//

#include "passes/plan/Liveness.h"

using namespace mlir;

namespace spmdc {

Value Liveness::getRoot(Value value) {
  while (auto reshape = value.getDefiningOp<ReshapeOp>())
    value = reshape.getOperand();
  return value;
}

Liveness::Liveness(func::FuncOp func) {
  Block &block = func.getBody().front();
  int64_t count = 0;
  for (Operation &op : block)
    steps[&op] = count++;
  for (Operation &op : block) {
    int64_t step = steps[&op];
    for (Value operand : op.getOperands()) {
      if (isa<plan::TokenType>(operand.getType()))
        continue;
      auto range = ranges.find(getRoot(operand));
      if (range != ranges.end())
        range->second.end = std::max(range->second.end, step);
    }
    if (auto done = dyn_cast<plan::DoneOp>(op)) {
      auto start = done.getToken().getDefiningOp<plan::StartOp>();
      ranges[done.getResult()] = {steps[start], step};
      auto operand = ranges.find(getRoot(start.getOperand()));
      if (operand != ranges.end())
        operand->second.end = std::max(operand->second.end, step);
      continue;
    }
    if (isa<ReshapeOp>(op))
      continue;
    for (Value result : op.getResults())
      if (isa<ArrayType>(result.getType()))
        ranges[result] = {step, step};
  }
}

} // namespace spmdc
