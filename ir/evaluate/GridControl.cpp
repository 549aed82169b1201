//===- GridControl.cpp - loops and branches on all devices ----------------===//
//
// The part of ProcessGridEvaluator that follows control flow. All devices go the same way; a predicate on which they
// do not agree is an error.
//
//===----------------------------------------------------------------------===//

#include "ir/evaluate/ProcessGridEvaluator.h"

using namespace mlir;

namespace spmdc {

FailureOr<bool> ProcessGridEvaluator::getPredicate(Operation *op, const DeviceTensors &predicate) {
  for (const Tensor &tensor : predicate)
    if (tensor.size() != 1 || (tensor.elements[0].i != 0) != (predicate[0].elements[0].i != 0))
      return op->emitError("has a predicate on which the devices do not agree");
  return predicate[0].elements[0].i != 0;
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

LogicalResult ProcessGridEvaluator::runWhile(Operation *op, Values carries, Values &results) {
  while (true) {
    Values condition, next;
    if (failed(runBlock(op->getRegion(0).front(), carries, condition)))
      return failure();
    FailureOr<bool> predicate = getPredicate(op, condition[0]);
    if (failed(predicate))
      return failure();
    if (!*predicate)
      break;
    if (failed(runBlock(op->getRegion(1).front(), carries, next)))
      return failure();
    carries = std::move(next);
  }
  results = std::move(carries);
  return success();
}

LogicalResult ProcessGridEvaluator::runIf(Operation *op, const DeviceTensors &predicate, Values &results) {
  FailureOr<bool> isTrue = getPredicate(op, predicate);
  if (failed(isTrue))
    return failure();
  return runBlock(op->getRegion(*isTrue ? 0 : 1).front(), {}, results);
}

} // namespace spmdc
