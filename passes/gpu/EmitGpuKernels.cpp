//===- EmitGpuKernels.cpp - the code of mapped kernels --------------------===//

#include "passes/gpu/KernelEmitter.h"
#include "passes/gpu/Passes.h"

using namespace mlir;

namespace spmdc {

#define GEN_PASS_DEF_EMITGPUKERNELS
#include "passes/gpu/Passes.h.inc"

namespace {

class EmitGpuKernelsPass : public impl::EmitGpuKernelsBase<EmitGpuKernelsPass> {
  void runOnOperation() override {
    OpBuilder builder = OpBuilder::atBlockEnd(getOperation().getBody());
    auto kernels = builder.create<gpu::GPUModuleOp>(getOperation().getLoc(), "kernels");
    for (plan::KernelOp kernel : getOperation().getOps<plan::KernelOp>())
      if (failed(emitGpuKernel(kernel, kernels)))
        return signalPassFailure();
  }
};

} // namespace
} // namespace spmdc
