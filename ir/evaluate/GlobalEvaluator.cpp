//===- GlobalEvaluator.cpp - reference results of a program ---------------===//

#include "ir/evaluate/GlobalEvaluator.h"

#include "ir/array/ArrayOps.h"
#include "ir/evaluate/OpEvaluator.h"
#include "ir/evaluate/ProcessGridEvaluator.h"

using namespace mlir;

namespace spmdc {
namespace {

class Evaluator {
public:
  /// The operands of the block's terminator.
  FailureOr<SmallVector<Tensor>> runBlock(Block &block, ArrayRef<Tensor> arguments) {
    for (auto [parameter, argument] : llvm::zip(block.getArguments(), arguments))
      values[parameter] = argument;
    for (Operation &op : block) {
      SmallVector<Tensor> operands;
      for (Value operand : op.getOperands())
        operands.push_back(values.at(operand));
      if (op.hasTrait<OpTrait::IsTerminator>())
        return operands;
      FailureOr<SmallVector<Tensor>> results = run(&op, operands);
      if (failed(results))
        return failure();
      for (auto [value, result] : llvm::zip(op.getResults(), *results))
        values[value] = std::move(result);
    }
    return block.getParentOp()->emitError("does not end in a return");
  }

private:
  using Tensors = SmallVector<Tensor>;

  FailureOr<Tensors> run(Operation *op, const Tensors &operands) {
    if (isa<ShardingGroupOp, PrintOp>(op))
      return Tensors();
    if (isa<ConstraintOp, ReshardOp>(op))
      return operands;
    if (auto manual = dyn_cast<ManualOp>(op))
      return ProcessGridEvaluator(manual.getManualMesh()).evaluateManual(manual, operands);
    if (auto loop = dyn_cast<ForOp>(op))
      return run(loop, operands);
    if (auto loop = dyn_cast<WhileOp>(op))
      return run(loop, operands);
    if (auto branch = dyn_cast<IfOp>(op))
      return runBlock(isTrue(operands[0]) ? branch.getThenRegion().front() : branch.getElseRegion().front(), {});
    FailureOr<Tensor> result = evaluateArrayOp(op, operands);
    if (failed(result))
      return failure();
    return Tensors{std::move(*result)};
  }

  FailureOr<Tensors> run(ForOp loop, Tensors carries) {
    Tensor counter({}, cast<ArrayType>(loop.getCounter().getType()).getElementType());
    auto lower = static_cast<int64_t>(loop.getLower());
    for (int64_t i = lower; i < lower + loop.getTripCount(); ++i) {
      counter.elements[0] = Scalar::ofInt(i);
      Tensors arguments = {counter};
      arguments.append(carries.begin(), carries.end());
      FailureOr<Tensors> next = runBlock(loop.getBody().front(), arguments);
      if (failed(next))
        return failure();
      carries = std::move(*next);
    }
    return carries;
  }

  FailureOr<Tensors> run(WhileOp loop, Tensors carries) {
    while (true) {
      FailureOr<Tensors> condition = runBlock(loop.getCondition().front(), carries);
      if (failed(condition))
        return failure();
      if (!isTrue((*condition)[0]))
        return carries;
      FailureOr<Tensors> next = runBlock(loop.getBody().front(), carries);
      if (failed(next))
        return failure();
      carries = std::move(*next);
    }
  }

  static bool isTrue(const Tensor &predicate) { return predicate.elements[0].i != 0; }

  DenseMap<Value, Tensor> values;
};

} // namespace

FailureOr<SmallVector<Tensor>> evaluateGlobal(func::FuncOp function, ArrayRef<Tensor> arguments) {
  if (!function.getBody().hasOneBlock())
    return function.emitError("must have one block to be evaluated");
  Block &block = function.getBody().front();
  if (arguments.size() != block.getNumArguments())
    return function.emitError() << "takes " << block.getNumArguments() << " arguments, got " << arguments.size();
  for (auto [parameter, argument] : llvm::zip(block.getArguments(), arguments)) {
    auto type = cast<ArrayType>(parameter.getType());
    if (ArrayRef<int64_t>(argument.shape) != type.getShape() || argument.elementType != type.getElementType())
      return function.emitError() << "argument " << parameter.getArgNumber() << " is not a "
                                  << type.withoutSharding().str();
  }
  return Evaluator().runBlock(block, arguments);
}

} // namespace spmdc
