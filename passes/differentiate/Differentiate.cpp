//===- Differentiate.cpp - replaces array.gradient by its operations ------===//
//
// Innermost derivative first, so that the derivative of a derivative finds plain operations. The backward pass is built
// behind the forward pass in the region of array.gradient; then both are moved out of the region.
//
//===----------------------------------------------------------------------===//

#include "ir/array/ArrayOps.h"
#include "ir/spmd/ValueNames.h"
#include "passes/differentiate/Passes.h"
#include "passes/differentiate/ReverseSweep.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Interfaces/LoopLikeInterface.h"
#include "mlir/Transforms/LoopInvariantCodeMotionUtils.h"

using namespace mlir;

namespace spmdc {

#define GEN_PASS_DEF_DIFFERENTIATEPASS
#include "passes/differentiate/Passes.h.inc"

namespace {

/// Moves the body of an operation in front of it, and replaces its arguments by values. Returns the values that the
/// body yielded.
SmallVector<Value> inlineBody(Operation *op, ValueRange arguments) {
  Block &body = op->getRegion(0).front();
  Operation *yield = body.getTerminator();
  for (auto [argument, value] : llvm::zip(body.getArguments(), arguments)) {
    moveValueNames(argument, value);
    argument.replaceAllUsesWith(value);
  }
  SmallVector<Value> yielded(yield->getOperands());
  yield->erase();
  op->getBlock()->getOperations().splice(op->getIterator(), body.getOperations());
  return yielded;
}

/// Replaces the operation by values, whose types may have shardings that its results' types lack.
void replaceOp(Operation *op, ValueRange values) {
  OpBuilder builder(op);
  for (auto [result, value] : llvm::zip(op->getResults(), values)) {
    Value replacement = value;
    moveValueNames(result, value);
    // The type of a function's result has to match the signature.
    bool isReturned = llvm::any_of(result.getUsers(), [](Operation *user) { return isa<func::ReturnOp>(user); });
    if (isReturned && value.getType() != result.getType())
      replacement = builder.create<ConstraintOp>(value.getLoc(), cast<ArrayType>(result.getType()), value);
    result.replaceAllUsesWith(replacement);
  }
  op->erase();
}

/// Within a manual region the arguments vary over all manual axes: a gradient is per device, without an implicit sum.
void followVarying(Derivative &derivative, GradientOp gradient) {
  auto manual = gradient->getParentOfType<ManualOp>();
  if (!manual)
    return;
  VaryingAxes::Axes all;
  for (AxisRefAttr axis : manual.getManualMesh().getAxes())
    all.insert(axis.getName().str());
  auto outermost = manual;
  while (auto around = outermost->getParentOfType<ManualOp>())
    outermost = around;
  derivative.varying.emplace(outermost);
  derivative.varying->widen(gradient.getBody().front(), all);
}

LogicalResult differentiate(GradientOp gradient) {
  Block &body = gradient.getBody().front();
  // Loop-invariant operations are moved out of the loop, so that the backward pass neither stores nor repeats them.
  gradient.getBody().walk([](LoopLikeOpInterface loop) { moveLoopInvariantCode(loop); });
  OpBuilder builder(body.getTerminator());
  Derivative derivative(getMesh(gradient));
  for (Value argument : body.getArguments())
    derivative.activity.addArgument(argument);
  derivative.activity.follow(body);
  followVarying(derivative, gradient);
  ReverseSweep sweep(derivative);
  auto number = [&](Value value, double number) -> Value {
    ArrayType type = cast<ArrayType>(value.getType()).withoutSharding();
    return builder.create<ConstantOp>(gradient.getLoc(), type, Scalar::ofFloat(number));
  };
  Value differentiated = gradient.getYielded().front();
  if (derivative.activity.isActive(differentiated))
    sweep.add(builder, differentiated, number(differentiated, 1));
  if (failed(sweep.run(body, builder)))
    return failure();
  SmallVector<Value> results(gradient.getYielded());
  for (Value argument : body.getArguments()) {
    Value cotangent = sweep.getCotangent(builder, argument);
    results.push_back(cotangent ? cotangent : number(argument, 0));
  }
  body.getTerminator()->setOperands(results);
  replaceOp(gradient, inlineBody(gradient, gradient.getOperands()));
  return success();
}

class DifferentiatePass : public impl::DifferentiatePassBase<DifferentiatePass> {
  void runOnOperation() override {
    for (auto func : getOperation().getOps<func::FuncOp>())
      if (failed(run(func)))
        return signalPassFailure();
  }

  static LogicalResult run(func::FuncOp func) {
    SmallVector<GradientOp> gradients; // Walks visit inner ones first.
    func.walk([&](GradientOp gradient) { gradients.push_back(gradient); });
    for (GradientOp gradient : gradients)
      if (failed(differentiate(gradient)))
        return failure();
    SmallVector<Operation *> wrappers;
    func.walk([&](Operation *op) {
      if (isa<CheckpointOp, StopGradientOp>(op))
        wrappers.push_back(op);
    });
    for (Operation *wrapper : wrappers) {
      if (isa<CheckpointOp>(wrapper))
        replaceOp(wrapper, inlineBody(wrapper, {}));
      else
        replaceOp(wrapper, wrapper->getOperands());
    }
    if (!gradients.empty())
      for (Block &block : func.getBody())
        eraseDead(block);
    return success();
  }
};

} // namespace
} // namespace spmdc
