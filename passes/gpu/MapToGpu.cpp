//===- MapToGpu.cpp - maps iterations to blocks and threads ---------------===//

#include "passes/gpu/GpuMapping.h"
#include "passes/gpu/Passes.h"
#include "passes/kernel/Overwrites.h"

using namespace mlir;

namespace spmdc {

#define GEN_PASS_DEF_MAPTOGPU
#include "passes/gpu/Passes.h.inc"

namespace {

class MapToGpuPass : public impl::MapToGpuBase<MapToGpuPass> {
public:
  using MapToGpuBase::MapToGpuBase;

private:
  void runOnOperation() override {
    Builder builder(&getContext());
    for (plan::KernelOp kernel : getOperation().getOps<plan::KernelOp>()) {
      FailureOr<KernelSchedule> schedule = KernelSchedule::compute(kernel, ScheduleTraits::forGpu(sharedBytes));
      if (failed(schedule))
        return signalPassFailure();
      KernelBody body = KernelBody::of(kernel);
      GpuMapping mapping = GpuMapping::choose(body, *schedule, sharedBytes);
      kernel.setExtentAttr(builder.getI64IntegerAttr(mapping.gridBlocks));
      kernel.setGrainAttr(builder.getI64IntegerAttr(1));
      kernel->setAttr(kBlockThreadsAttrName, builder.getI64IntegerAttr(mapping.blockThreads));
      kernel->setAttr(kSharedLimitAttrName, builder.getI64IntegerAttr(sharedBytes));
      if (mapping.sharedBytes)
        kernel->setAttr(kSharedBytesAttrName, builder.getI64IntegerAttr(mapping.sharedBytes));
      kernel->setAttr("mapping", builder.getStringAttr(mapping.str()));
      setOverwrites(kernel,
                    [&](Value input, unsigned output) { return mapping.canOverwrite(body, *schedule, input, output); });
    }
  }
};

} // namespace
} // namespace spmdc
