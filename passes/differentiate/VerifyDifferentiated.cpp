//===- VerifyDifferentiated.cpp - checks the exit of the differentiation leg -===//

#include "ir/array/ArrayOps.h"
#include "passes/differentiate/Passes.h"

using namespace mlir;

namespace spmdc {

#define GEN_PASS_DEF_VERIFYDIFFERENTIATEDPASS
#include "passes/differentiate/Passes.h.inc"

namespace {

class VerifyDifferentiatedPass : public impl::VerifyDifferentiatedPassBase<VerifyDifferentiatedPass> {
  void runOnOperation() override {
    WalkResult result = getOperation().walk([](Operation *op) {
      if (!isa<GradientOp, StopGradientOp, CheckpointOp>(op))
        return WalkResult::advance();
      op->emitOpError("is left after differentiation");
      return WalkResult::interrupt();
    });
    if (result.wasInterrupted())
      return signalPassFailure();
    markAllAnalysesPreserved();
  }
};

} // namespace
} // namespace spmdc
