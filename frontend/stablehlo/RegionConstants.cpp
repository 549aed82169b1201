//===- RegionConstants.cpp - constants of reductions and sorts ------------===//

#include "frontend/stablehlo/RegionConstants.h"

#include "frontend/stablehlo/dialect/Dialects.h"

#include "mlir/IR/Builders.h"
#include "llvm/ADT/DenseMap.h"

using namespace mlir;

namespace spmdc::stablehlo {

static void copyInto(Region &region) {
  if (!llvm::hasSingleElement(region))
    return;
  OpBuilder builder(region.getContext());
  builder.setInsertionPointToStart(&region.front());
  llvm::SmallDenseMap<Operation *, Value> copies;
  region.walk([&](Operation *op) { // Branches and loops of the region, too.
    for (OpOperand &operand : op->getOpOperands()) {
      auto constant = operand.get().getDefiningOp<ConstantOp>();
      auto type = llvm::dyn_cast<RankedTensorType>(operand.get().getType());
      if (!constant || region.isAncestor(constant->getParentRegion()) || !type || type.getRank() != 0)
        continue;
      Value &copy = copies[constant];
      if (!copy)
        copy = builder.clone(*constant)->getResult(0);
      operand.set(copy);
    }
  });
}

void copyConstantsIntoRegions(ModuleOp module) {
  module.walk([](Operation *op) {
    if (isa<AllReduceOp, ReduceOp, ReduceScatterOp, ReduceWindowOp, ScatterOp, SelectAndScatterOp, SortOp>(op))
      for (Region &region : op->getRegions())
        copyInto(region);
  });
}

} // namespace spmdc::stablehlo
