//===- VerifyKernels.cpp - checks the exit of the kernels stage -----------===//

#include "ir/array/ArrayOps.h"
#include "ir/plan/PlanOps.h"
#include "passes/kernel/KernelSchedule.h"
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

/// An epilogue runs on a part of the rows as soon as the product has computed these.
LogicalResult verifyEpilogue(plan::MatmulOp product, SymbolTable &symbols) {
  if (!product.getEpilogue())
    return success();
  auto kernel = symbols.lookup<plan::KernelOp>(*product.getEpilogue());
  if (!kernel)
    return product.emitOpError() << "names '" << *product.getEpilogue() << "', which is not a kernel of the module";
  auto fail = [&](const llvm::Twine &problem) {
    InFlightDiagnostic error = product.emitOpError(problem);
    error.attachNote(kernel.getLoc()) << "the kernel is here";
    return error;
  };
  Block &body = kernel.getBlock();
  SmallVector<Type> inputs = {product.getType()};
  llvm::append_range(inputs, product.getExtras().getTypes());
  auto numberOf = [](Type type) { return cast<ArrayType>(type).getNumElements(); };
  OperandRange outputs = body.getTerminator()->getOperands();
  // The product has the shape of the result or another one: both are its rows.
  if (outputs.size() != 1 || outputs[0].getType() != product.getType() || body.getNumArguments() != inputs.size() ||
      numberOf(body.getArgument(0).getType()) != numberOf(product.getType()) ||
      !llvm::equal(llvm::drop_begin(body.getArgumentTypes()), llvm::drop_begin(inputs)))
    return fail("has other types than its epilogue");
  auto rows = kernel->getAttrOfType<IntegerAttr>(kRowsAttrName);
  if (!rows || rows.getInt() != static_cast<int64_t>(product.getBatch() * product.getM()))
    return fail("has another number of rows than its epilogue");
  if (kernel->hasAttr(kBlockThreadsAttrName))
    return success(); // A GPU runs the epilogue behind the product.
  FailureOr<KernelSchedule> schedule = KernelSchedule::compute(kernel);
  if (failed(schedule) || !schedule->rewritesRows(body.getArgument(0), outputs[0]))
    return fail("has an epilogue that does not rewrite each row in place");
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
      auto product = dyn_cast<plan::MatmulOp>(op);
      bool isWrong =
          (launch && failed(verifyLaunch(launch, symbols))) || (product && failed(verifyEpilogue(product, symbols)));
      return isWrong ? WalkResult::interrupt() : WalkResult::advance();
    });
    if (result.wasInterrupted())
      return signalPassFailure();
    markAllAnalysesPreserved();
  }
};

} // namespace
} // namespace spmdc
