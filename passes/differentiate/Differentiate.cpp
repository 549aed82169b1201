//===- Differentiate.cpp - replaces derivatives by what computes them -----===//
//
// Innermost first, so that the derivative of a derivative finds plain operations: the backward pass is built behind
// the forward one in the region of array.gradient, and both move out of it.
//
//===----------------------------------------------------------------------===//

#include "ir/array/ArrayOps.h"
#include "passes/differentiate/Passes.h"
#include "passes/differentiate/ReverseSweep.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

using namespace mlir;

namespace spmdc {

#define GEN_PASS_DEF_DIFFERENTIATEPASS
#include "passes/differentiate/Passes.h.inc"

namespace {

/// Moves the body of an operation before it and puts values into the place of its arguments. What it yielded is
/// returned.
SmallVector<Value> inlineBody(Operation *op, ValueRange arguments) {
  Block &body = op->getRegion(0).front();
  Operation *yield = body.getTerminator();
  for (auto [argument, value] : llvm::zip(body.getArguments(), arguments))
    argument.replaceAllUsesWith(value);
  SmallVector<Value> yielded(yield->getOperands());
  yield->erase();
  op->getBlock()->getOperations().splice(op->getIterator(), body.getOperations());
  return yielded;
}

/// Replaces the operation by values, whose types may have shardings where its results' have none.
void replaceOp(Operation *op, ValueRange values) {
  OpBuilder builder(op);
  for (auto [result, value] : llvm::zip(op->getResults(), values)) {
    Value replacement = value;
    // A function's result is of the type that its signature says.
    bool isReturned = llvm::any_of(result.getUsers(), [](Operation *user) { return isa<func::ReturnOp>(user); });
    if (isReturned && value.getType() != result.getType())
      replacement = builder.create<ConstraintOp>(value.getLoc(), cast<ArrayType>(result.getType()), value);
    result.replaceAllUsesWith(replacement);
  }
  op->erase();
}

LogicalResult differentiate(GradientOp gradient) {
  Block &body = gradient.getBody().front();
  OpBuilder builder(body.getTerminator());
  Activity activity;
  for (Value argument : body.getArguments())
    activity.addArgument(argument);
  activity.follow(body);
  ReverseSweep sweep(activity);
  auto number = [&](Value value, double number) -> Value {
    ArrayType type = cast<ArrayType>(value.getType()).withoutSharding();
    return builder.create<ConstantOp>(gradient.getLoc(), type, Scalar::ofFloat(number));
  };
  Value differentiated = gradient.getYielded().front();
  if (activity.isActive(differentiated))
    sweep.add(builder, differentiated, number(differentiated, 1));
  if (failed(sweep.run(body, builder))) {
    return failure();
  }
  SmallVector<Value> results(gradient.getYielded());
  for (Value argument : body.getArguments()) {
    Value cotangent = sweep.getCotangent(argument);
    results.push_back(cotangent ? cotangent : number(argument, 0));
  }
  body.getTerminator()->setOperands(results);
  replaceOp(gradient, inlineBody(gradient, gradient.getOperands()));
  return success();
}

/// Erases what has no user and no effect, users before what they use.
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

class DifferentiatePass : public impl::DifferentiatePassBase<DifferentiatePass> {
  void runOnOperation() override {
    for (auto func : getOperation().getOps<func::FuncOp>())
      if (failed(run(func)))
        return signalPassFailure();
  }

  static LogicalResult run(func::FuncOp func) {
    SmallVector<GradientOp> gradients; // Inner ones first, as walks go.
    func.walk([&](GradientOp gradient) { gradients.push_back(gradient); });
    for (GradientOp gradient : gradients)
      if (failed(differentiate(gradient)))
        return failure();
    SmallVector<Operation *> markers;
    func.walk([&](Operation *op) {
      if (isa<CheckpointOp, StopGradientOp>(op))
        markers.push_back(op);
    });
    for (Operation *marker : markers) {
      if (isa<CheckpointOp>(marker))
        replaceOp(marker, inlineBody(marker, {}));
      else
        replaceOp(marker, marker->getOperands());
    }
    if (!gradients.empty())
      for (Block &block : func.getBody())
        eraseDead(block);
    return success();
  }
};

} // namespace
} // namespace spmdc
