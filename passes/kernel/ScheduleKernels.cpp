//===- ScheduleKernels.cpp - chooses the loops of each kernel -------------===//

#include "passes/kernel/KernelSchedule.h"
#include "passes/kernel/Overwrites.h"
#include "passes/kernel/Passes.h"
#include "passes/kernel/StreamedProducts.h"

using namespace mlir;

namespace spmdc {

#define GEN_PASS_DEF_SCHEDULEKERNELS
#include "passes/kernel/Passes.h.inc"

namespace {

class ScheduleKernelsPass : public impl::ScheduleKernelsBase<ScheduleKernelsPass> {
  void runOnOperation() override {
    for (plan::KernelOp kernel : getOperation().getOps<plan::KernelOp>()) {
      Builder builder(&getContext());
      if (kernel->hasAttr(kStreamedAttrName)) {
        // On a GPU, spmdc-map-to-gpu chooses the tiles.
        FailureOr<StreamedProducts> products = StreamedProducts::of(kernel);
        if (failed(products))
          return signalPassFailure();
        kernel.setExtentAttr(builder.getI64IntegerAttr(
            products->unit == StreamUnit::Vector ? products->countRowBlocks(kStreamedRows) : products->rows));
        kernel.setGrainAttr(builder.getI64IntegerAttr(1));
        kernel->setAttr("schedule", builder.getStringAttr(products->str()));
        setOverwrites(kernel, [](Value, unsigned) { return false; });
        continue;
      }
      FailureOr<KernelSchedule> schedule = KernelSchedule::compute(kernel);
      if (failed(schedule))
        return signalPassFailure();
      kernel.setExtentAttr(builder.getI64IntegerAttr(schedule->getExtent()));
      kernel.setGrainAttr(builder.getI64IntegerAttr(schedule->grain));
      kernel->setAttr("schedule", builder.getStringAttr(schedule->str()));
      KernelBody body = KernelBody::of(kernel);
      setOverwrites(kernel, [&](Value input, unsigned output) {
        return schedule->canOverwrite(input, output, body.outputs[output]);
      });
    }
  }
};

} // namespace
} // namespace spmdc
