//===- Linearity.cpp - where partial sums pass through operations ---------===//

#include "passes/reductions/Linearity.h"

using namespace mlir;

namespace spmdc {

SmallVector<unsigned> listLinear(Operation *op, function_ref<bool(Value)> mayBePartial) {
  auto linear = dyn_cast<LinearOpInterface>(op);
  return linear ? linear.getLinearOperands(mayBePartial) : SmallVector<unsigned>();
}

bool isLinearIn(OpOperand &use) {
  return llvm::is_contained(listLinear(use.getOwner(), [&](Value operand) { return operand == use.get(); }),
                            use.getOperandNumber());
}

bool isLinearCollective(Operation *op) {
  return isa<CollectiveOpInterface>(op) && !listLinear(op, [](Value) { return true; }).empty();
}

} // namespace spmdc
