//===- VerifyKernels.cpp - checks the exit of the kernels stage -----------===//

#include "ir/array/ArrayOps.h"
#include "ir/plan/PlanOps.h"
#include "passes/kernel/Passes.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

using namespace mlir;

namespace spmdc {

#define GEN_PASS_DEF_VERIFYKERNELS
#include "passes/kernel/Passes.h.inc"

namespace {

/// Whether the operation becomes a step of the plan, or a part of one.
bool becomesStep(Operation *op) {
  return isa<plan::LaunchOp, plan::MatmulOp, plan::LibraryOp, CollectiveOpInterface, LoopLikeOpInterface, IfOp, YieldOp,
             PrintOp, ConstantOp, ReshapeOp, func::ReturnOp>(op);
}

LogicalResult verifyLaunch(plan::LaunchOp launch, SymbolTable &symbols) {
  auto kernel = symbols.lookup<plan::KernelOp>(launch.getKernel());
  if (!kernel)
    return launch.emitOpError() << "names '" << launch.getKernel() << "', which is not a kernel of the module";
  Block &body = kernel.getBlock();
  if (body.getArgumentTypes() != launch.getInputs().getTypes() ||
      body.getTerminator()->getOperandTypes() != launch.getOutputs().getTypes()) {
    InFlightDiagnostic error = launch.emitOpError("has other types than its kernel");
    error.attachNote(kernel.getLoc()) << "the kernel is here";
    return error;
  }
  return success();
}

class VerifyKernelsPass : public impl::VerifyKernelsBase<VerifyKernelsPass> {
  void runOnOperation() override {
    SymbolTable symbols(getOperation());
    WalkResult result = getOperation().walk<WalkOrder::PreOrder>([&](Operation *op) -> WalkResult {
      if (auto kernel = dyn_cast<plan::KernelOp>(op)) {
        if (!kernel->hasAttr("schedule"))
          return kernel.emitOpError("has no schedule after the kernels stage"), WalkResult::interrupt();
        return WalkResult::skip();
      }
      if (isa<ModuleOp, func::FuncOp>(op))
        return WalkResult::advance();
      if (!becomesStep(op))
        return op->emitOpError("is in no kernel after the kernels stage"), WalkResult::interrupt();
      auto launch = dyn_cast<plan::LaunchOp>(op);
      return launch && failed(verifyLaunch(launch, symbols)) ? WalkResult::interrupt() : WalkResult::advance();
    });
    if (result.wasInterrupted())
      return signalPassFailure();
    markAllAnalysesPreserved();
  }
};

} // namespace
} // namespace spmdc
