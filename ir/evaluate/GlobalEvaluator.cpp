//===- GlobalEvaluator.cpp - what a program means -------------------------===//

#include "ir/evaluate/GlobalEvaluator.h"

#include "ir/array/ArrayOps.h"
#include "ir/evaluate/OpEvaluator.h"
#include "ir/evaluate/ProcessGridEvaluator.h"

using namespace mlir;

namespace spmdc {

FailureOr<SmallVector<Tensor>> evaluateGlobal(func::FuncOp function, ArrayRef<Tensor> arguments) {
  if (!function.getBody().hasOneBlock())
    return function.emitError("is evaluated only with one block");
  Block &block = function.getBody().front();
  if (arguments.size() != block.getNumArguments())
    return function.emitError() << "takes " << block.getNumArguments() << " arguments, got " << arguments.size();

  DenseMap<Value, Tensor> values;
  for (auto [parameter, argument] : llvm::zip(block.getArguments(), arguments)) {
    auto type = cast<ArrayType>(parameter.getType());
    if (ArrayRef<int64_t>(argument.shape) != type.getShape() || argument.elementType != type.getElementType())
      return function.emitError() << "argument " << parameter.getArgNumber() << " is not a "
                                  << type.withoutSharding().str();
    values[parameter] = argument;
  }
  for (Operation &op : block) {
    SmallVector<Tensor> operands;
    for (Value operand : op.getOperands())
      operands.push_back(values.at(operand));
    if (isa<func::ReturnOp>(op))
      return operands;
    if (isa<ShardingGroupOp>(op))
      continue;
    if (isa<ConstraintOp, ReshardOp>(op)) {
      values[op.getResult(0)] = operands[0];
      continue;
    }
    if (auto manual = dyn_cast<ManualOp>(op)) {
      FailureOr<SmallVector<Tensor>> results = ProcessGridEvaluator(getMesh(&op)).evaluateManual(manual, operands);
      if (failed(results))
        return failure();
      for (auto [value, result] : llvm::zip(op.getResults(), *results))
        values[value] = std::move(result);
      continue;
    }
    FailureOr<Tensor> result = evaluateArrayOp(&op, operands);
    if (failed(result))
      return failure();
    values[op.getResult(0)] = std::move(*result);
  }
  return function.emitError("does not end in a return");
}

} // namespace spmdc
