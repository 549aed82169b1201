//===- Conditions.cpp - values that decide control flow -------------------===//

#include "passes/exchange/Reasons.h"

#include "ir/array/ArrayOps.h"

using namespace mlir;

namespace spmdc {

std::string whyForCondition(Value value) {
  SmallVector<Value> values = {value};
  llvm::DenseSet<Value> seen;
  while (!values.empty()) {
    Value next = values.pop_back_val();
    if (!seen.insert(next).second || cast<ArrayType>(next.getType()).getNumElements() != 1)
      continue;
    for (Operation *user : next.getUsers()) {
      bool isLoop =
          isa<YieldOp>(user) && isa<WhileOp>(user->getParentOp()) && user->getParentRegion()->getRegionNumber() == 0;
      if (isLoop || isa<IfOp>(user))
        return std::string("; the condition of '") + (isLoop ? "while" : "if") + "' is the same " +
               (user->getParentOfType<ManualOp>() ? "along the axes that are not manual" : "on every device");
      if (isa<ElementwiseOpInterface, ReshardOp, ConstraintOp, ReshapeOp>(user))
        llvm::append_range(values, user->getResults());
    }
  }
  return "";
}

} // namespace spmdc
