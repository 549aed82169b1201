//===- GridControl.cpp - loops and branches on all devices ----------------===//
//
// The part of ProcessGridEvaluator that follows control flow. Where devices do not agree on a predicate, all go all
// ways and each takes what is its own; a collective is an error there.
//
//===----------------------------------------------------------------------===//

#include "ir/evaluate/ProcessGridEvaluator.h"

using namespace mlir;

namespace spmdc {

FailureOr<std::optional<bool>> ProcessGridEvaluator::getPredicate(Operation *op, const DeviceTensors &predicate) {
  bool first = predicate[0].elements[0].i != 0;
  bool doAgree = llvm::all_of(predicate, [&](const Tensor &tensor) { return (tensor.elements[0].i != 0) == first; });
  if (doAgree)
    return std::optional(first);
  bool hasCollective = op->walk([](Operation *inside) {
                           return isa<CollectiveOpInterface>(inside) ? WalkResult::interrupt() : WalkResult::advance();
                         }).wasInterrupted();
  if (hasCollective)
    return op->emitError("has a predicate on which the devices do not agree, and a collective in it");
  return std::optional<bool>();
}

LogicalResult ProcessGridEvaluator::runFor(Operation *op, int64_t lower, int64_t upper, Values carries,
                                           Values &results) {
  Block &body = op->getRegion(0).front();
  Type counterType = cast<ArrayType>(body.getArgument(0).getType()).getElementType();
  for (int64_t i = lower; i < upper; ++i) {
    Values arguments = {DeviceTensors(mesh.deviceCount(), Tensor({}, counterType, Scalar::ofInt(i)))}, next;
    arguments.append(carries.begin(), carries.end());
    if (failed(runBlock(body, arguments, next)))
      return failure();
    carries = std::move(next);
  }
  results = std::move(carries);
  return success();
}

/// `onTrue` on the devices where the predicate holds, `onFalse` on the others.
static SmallVector<DeviceTensors> choose(const DeviceTensors &predicate, ArrayRef<DeviceTensors> onTrue,
                                         ArrayRef<DeviceTensors> onFalse) {
  SmallVector<DeviceTensors> results(onFalse);
  for (auto [result, other] : llvm::zip(results, onTrue))
    for (size_t device = 0; device < predicate.size(); ++device)
      if (predicate[device].elements[0].i != 0)
        result[device] = other[device];
  return results;
}

LogicalResult ProcessGridEvaluator::runWhile(Operation *op, Values carries, Values &results) {
  while (true) {
    Values condition, next;
    if (failed(runBlock(op->getRegion(0).front(), carries, condition)))
      return failure();
    FailureOr<std::optional<bool>> predicate = getPredicate(op, condition[0]);
    if (failed(predicate))
      return failure();
    if (*predicate == false)
      break;
    if (failed(runBlock(op->getRegion(1).front(), carries, next)))
      return failure();
    carries = choose(condition[0], next, carries);
  }
  results = std::move(carries);
  return success();
}

LogicalResult ProcessGridEvaluator::runIf(Operation *op, const DeviceTensors &predicate, Values &results) {
  FailureOr<std::optional<bool>> isTrue = getPredicate(op, predicate);
  if (failed(isTrue))
    return failure();
  if (*isTrue)
    return runBlock(op->getRegion(**isTrue ? 0 : 1).front(), {}, results);
  Values onTrue, onFalse;
  if (failed(runBlock(op->getRegion(0).front(), {}, onTrue)) || failed(runBlock(op->getRegion(1).front(), {}, onFalse)))
    return failure();
  results = choose(predicate, onTrue, onFalse);
  return success();
}

} // namespace spmdc
