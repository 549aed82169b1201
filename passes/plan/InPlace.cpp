//===- InPlace.cpp - outputs in the memory of inputs ----------------------===//

#include "passes/plan/InPlace.h"

#include "passes/kernel/Overwrites.h"
#include "passes/plan/Liveness.h"

using namespace mlir;

namespace spmdc {

bool mayOverwrite(plan::LaunchOp launch, Value root, unsigned output) {
  auto kernel = SymbolTable::lookupNearestSymbolFrom<plan::KernelOp>(launch, launch.getKernelAttr());
  if (!kernel)
    return false;
  bool isRead = false;
  for (auto [number, input] : llvm::enumerate(launch.getInputs())) {
    if (Liveness::getRoot(input) != root)
      continue;
    isRead = true;
    if (!canOverwrite(kernel, number, output))
      return false;
  }
  return isRead;
}

bool mayOverwrite(plan::LibraryOp call, Value root) {
  Value overwritten = call.getOverwritten();
  return overwritten && Liveness::getRoot(overwritten) == root &&
         llvm::none_of(call.getInputs().drop_front(), [&](Value input) { return Liveness::getRoot(input) == root; });
}

} // namespace spmdc
