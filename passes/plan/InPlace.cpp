//===- InPlace.cpp - may an output lie where an input lies? ---------------===//

#include "passes/plan/InPlace.h"

#include "passes/kernel/KernelSchedule.h"
#include "passes/plan/Liveness.h"

using namespace mlir;

namespace spmdc {

bool mayOverwrite(plan::LaunchOp launch, Value root, unsigned output) {
  auto kernel = SymbolTable::lookupNearestSymbolFrom<plan::KernelOp>(launch, launch.getKernelAttr());
  if (!kernel)
    return false;
  FailureOr<KernelSchedule> schedule = KernelSchedule::compute(kernel);
  if (failed(schedule))
    return false;
  Value target = kernel.getBlock().getTerminator()->getOperand(output);
  bool isRead = false;
  for (auto [number, input] : llvm::enumerate(launch.getInputs())) {
    if (Liveness::getRoot(input) != root)
      continue;
    isRead = true;
    if (!schedule->canOverwrite(kernel.getBlock().getArgument(number), output, target))
      return false;
  }
  return isRead;
}

} // namespace spmdc
