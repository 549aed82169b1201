//===- MapToGpu.cpp - maps iterations to blocks and threads ---------------===//

#include "passes/gpu/GpuMapping.h"
#include "passes/gpu/Passes.h"
#include "passes/kernel/Overwrites.h"
#include "passes/kernel/StreamTiles.h"

using namespace mlir;

namespace spmdc {

#define GEN_PASS_DEF_MAPTOGPU
#include "passes/gpu/Passes.h.inc"

namespace {

class MapToGpuPass : public impl::MapToGpuBase<MapToGpuPass> {
public:
  using MapToGpuBase::MapToGpuBase;

private:
  void map(plan::KernelOp kernel, int64_t gridBlocks, int64_t blockThreads, int64_t bytes, const std::string &text) {
    Builder builder(&getContext());
    kernel.setExtentAttr(builder.getI64IntegerAttr(gridBlocks));
    kernel.setGrainAttr(builder.getI64IntegerAttr(1));
    kernel->setAttr(kBlockThreadsAttrName, builder.getI64IntegerAttr(blockThreads));
    kernel->setAttr(kSharedLimitAttrName, builder.getI64IntegerAttr(sharedBytes));
    kernel->setAttr(kMaxClusterAttrName, builder.getI64IntegerAttr(clusterBlocks));
    if (bytes)
      kernel->setAttr(kSharedBytesAttrName, builder.getI64IntegerAttr(bytes));
    kernel->setAttr("mapping", builder.getStringAttr(text));
  }

  void runOnOperation() override {
    GpuLimits limits{sharedBytes, clusterBlocks};
    for (plan::KernelOp kernel : getOperation().getOps<plan::KernelOp>()) {
      if (kernel->hasAttr(kStreamedAttrName)) {
        FailureOr<StreamedProducts> products = StreamedProducts::of(kernel);
        if (failed(products))
          return signalPassFailure();
        std::optional<StreamTiles> tiles =
            StreamTiles::choose(*products, sharedBytes, warpgroups ? MatrixUnit::Warpgroup : MatrixUnit::Warp);
        if (!tiles) {
          kernel.emitError("the tiles of kernel '")
              << kernel.getSymName() << "' do not fit the shared memory of a block";
          return signalPassFailure();
        }
        kernel->setAttr(kWarpgroupsAttrName, Builder(&getContext()).getBoolAttr(warpgroups));
        map(kernel, tiles->gridBlocks, tiles->getBlockThreads(), tiles->sharedBytes, tiles->str());
        continue;
      }
      FailureOr<KernelSchedule> schedule = KernelSchedule::compute(kernel, ScheduleTraits::forGpu(limits));
      if (failed(schedule))
        return signalPassFailure();
      KernelBody body = KernelBody::of(kernel);
      GpuMapping mapping = GpuMapping::choose(body, *schedule, limits);
      map(kernel, mapping.gridBlocks, mapping.blockThreads, mapping.sharedBytes, mapping.str());
      if (mapping.stateBytes)
        kernel->setAttr(kStateBytesAttrName, Builder(&getContext()).getI64IntegerAttr(mapping.stateBytes));
      setOverwrites(kernel,
                    [&](Value input, unsigned output) { return mapping.canOverwrite(body, *schedule, input, output); });
    }
  }
};

} // namespace
} // namespace spmdc
