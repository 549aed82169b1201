//===- VerifyDifferentiated.cpp - checks after differentiation ------------===//

#include "ir/array/ArrayOps.h"
#include "ir/spmd/VaryingAxes.h"
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
    if (result.wasInterrupted() || failed(verifyCollectives()))
      return signalPassFailure();
    markAllAnalysesPreserved();
  }

  /// The front end has rejected these in the user's program; differentiation must not create them either.
  LogicalResult verifyCollectives() {
    WalkResult walk = getOperation().walk<WalkOrder::PreOrder>([](ManualOp manual) {
      std::optional<DividedCollective> divided = findDividedCollective(manual.getBlock(), VaryingAxes(manual));
      if (!divided)
        return WalkResult::skip(); // Has checked regions within.
      InFlightDiagnostic error =
          divided->collective->emitOpError("is under a condition that differs between devices of its group");
      error.attachNote(divided->control->getLoc()) << "this varies over '" << *divided->axes.begin() << "'";
      return WalkResult::interrupt();
    });
    return failure(walk.wasInterrupted());
  }
};

} // namespace
} // namespace spmdc
