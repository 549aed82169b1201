//===- GridControl.cpp - loops and branches on all devices ----------------===//
//
// The part of ProcessGridEvaluator that follows control flow. If devices do not agree on a predicate, all evaluate
// every branch, and each keeps the values of its own; a collective in it is an error if its group does not agree. A
// loop does not run on a device that does not reach it: it might not terminate there.
//
//===----------------------------------------------------------------------===//

#include "ir/evaluate/ProcessGridEvaluator.h"

#include "llvm/Support/SaveAndRestore.h"

using namespace mlir;

namespace spmdc {

LogicalResult ProcessGridEvaluator::checkGroups(Operation *op, const Decisions &decisions) {
  WalkResult walk = op->walk([&](CollectiveOpInterface collective) {
    std::vector<spmd::AxisRef> axes = collective.getGroupAxes().toValues();
    // The axes of a manual region within are not part of this grid.
    llvm::erase_if(axes, [&](const spmd::AxisRef &axis) { return mesh.indexOf(axis.name) < 0; });
    for (int64_t device = 0; device < mesh.deviceCount(); ++device)
      for (int64_t member : spmd::groupOf(mesh, axes, device))
        if (decisions[member] != decisions[device])
          return WalkResult::interrupt();
    return WalkResult::advance();
  });
  if (walk.wasInterrupted())
    return op->emitError("contains a collective whose devices do not agree on the predicate");
  return success();
}

ProcessGridEvaluator::Decisions ProcessGridEvaluator::decide(const DeviceTensors &predicate, bool expected) const {
  Decisions decisions;
  for (const auto &[device, tensor] : llvm::enumerate(predicate))
    decisions.push_back((tensor.elements[0].i != 0) == expected && (here.empty() || here[device]));
  return decisions;
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

/// `onTrue` on the devices that decided so, `onFalse` on the others.
static SmallVector<DeviceTensors> choose(ArrayRef<char> decisions, ArrayRef<DeviceTensors> onTrue,
                                         ArrayRef<DeviceTensors> onFalse) {
  SmallVector<DeviceTensors> results(onFalse);
  for (auto [result, other] : llvm::zip(results, onTrue))
    for (size_t device = 0; device < decisions.size(); ++device)
      if (decisions[device])
        result[device] = other[device];
  return results;
}

LogicalResult ProcessGridEvaluator::runWhile(Operation *op, Values carries, Values &results) {
  llvm::SaveAndRestore restore(here);
  while (true) {
    Values condition, next;
    if (failed(runBlock(op->getRegion(0).front(), carries, condition)))
      return failure();
    Decisions goOn = decide(condition[0], true);
    if (!llvm::is_contained(goOn, true))
      break;
    if (failed(checkGroups(op, goOn)))
      return failure();
    here = goOn;
    if (failed(runBlock(op->getRegion(1).front(), carries, next)))
      return failure();
    carries = choose(goOn, next, carries);
  }
  results = std::move(carries);
  return success();
}

LogicalResult ProcessGridEvaluator::runIf(Operation *op, const DeviceTensors &predicate, Values &results) {
  bool first = predicate[0].elements[0].i != 0;
  if (llvm::all_of(predicate, [&](const Tensor &tensor) { return (tensor.elements[0].i != 0) == first; }))
    return runBlock(op->getRegion(first ? 0 : 1).front(), {}, results);
  Decisions goThere = decide(predicate, true);
  if (failed(checkGroups(op, goThere)))
    return failure();
  Values onTrue, onFalse;
  {
    llvm::SaveAndRestore restore(here, goThere);
    if (failed(runBlock(op->getRegion(0).front(), {}, onTrue)))
      return failure();
  }
  llvm::SaveAndRestore restore(here, decide(predicate, false));
  if (failed(runBlock(op->getRegion(1).front(), {}, onFalse)))
    return failure();
  results = choose(goThere, onTrue, onFalse);
  return success();
}

} // namespace spmdc
