//===- DropBarriers.cpp - removes optimization barriers -------------------===//

#include "ir/array/ArrayOps.h"
#include "passes/partition/Passes.h"

using namespace mlir;

namespace spmdc {

#define GEN_PASS_DEF_DROPBARRIERS
#include "passes/partition/Passes.h.inc"

namespace {

class DropBarriersPass : public impl::DropBarriersBase<DropBarriersPass> {
  void runOnOperation() override {
    getOperation().walk([](OptimizationBarrierOp op) {
      op.replaceAllUsesWith(op.getOperand());
      op.erase();
    });
  }
};

} // namespace
} // namespace spmdc
