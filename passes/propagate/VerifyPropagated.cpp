//===- VerifyPropagated.cpp - checks the stage `propagated` ---------------===//

#include "ir/spmd/SpmdOps.h"
#include "passes/propagate/Passes.h"
#include "passes/sharding/AxisList.h"
#include "runtime/support/ArraySize.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

using namespace mlir;

namespace spmdc {

#define GEN_PASS_DEF_VERIFYPROPAGATEDPASS
#include "passes/propagate/Passes.h.inc"

namespace {

/// Whether the padded shards of all devices together are no larger than an array may be: a reshard may gather them.
bool hasAllowedShards(ArrayType type, const spmd::MeshShape &mesh) {
  SmallVector<int64_t> padded(type.getShape());
  for (auto [size, dim] : llvm::zip_equal(padded, type.getShardingOrOpen().getDims())) {
    int64_t count = 1;
    for (AxisRefAttr axis : dim.getAxes()) {
      size = llvm::divideCeilSigned(size, axis.sizeIn(mesh));
      count *= axis.sizeIn(mesh);
    }
    size = spmd::multiplySaturated(size, count);
  }
  return spmd::isAllowedSize(padded, spmd::byteSize(type.getDType()));
}

LogicalResult verifyValue(Value value, const MeshAxes &mesh, const spmd::MeshShape &shape) {
  auto type = dyn_cast<ArrayType>(value.getType());
  if (!type)
    return success();
  ShardingAttr sharding = type.getSharding();
  if (!sharding)
    return type.getRank() == 0 ? success() : emitError(value.getLoc()) << type.str() << " has no sharding";
  SmallVector<AxisRefAttr> axes(sharding.getUnreduced());
  for (auto [index, dim] : llvm::enumerate(sharding.getDims())) {
    if (!dim.getIsClosed() || dim.getPriority() >= 0)
      return emitError(value.getLoc()) << "dimension " << index << " of " << type.str()
                                       << " is not closed, or has a priority, after propagation";
    llvm::append_range(axes, dim.getAxes());
  }
  for (AxisRefAttr axis : axes)
    if (!mesh.find(axis))
      return emitError(value.getLoc()) << "the mesh has no axis '" << axis.str() << "' for " << type.str();
  if (!hasAllowedShards(type, shape))
    return emitError(value.getLoc()) << "the padded shards of " << type.str()
                                     << " would have more than 2^56 bytes in total";
  return success();
}

class VerifyPropagatedPass : public impl::VerifyPropagatedPassBase<VerifyPropagatedPass> {
  void runOnOperation() override {
    MeshAxes mesh(getMesh(getOperation()));
    const spmd::MeshShape shape = mesh.getMesh().toValue();
    WalkResult result = getOperation().walk<WalkOrder::PreOrder>([&](Operation *op) -> WalkResult {
      if (isa<ConstraintOp, ShardingGroupOp>(op)) {
        op->emitOpError("is left after propagation");
        return WalkResult::interrupt();
      }
      for (Value value : op->getResults())
        if (failed(verifyValue(value, mesh, shape)))
          return WalkResult::interrupt();
      if (auto manual = dyn_cast<ManualOp>(op); manual && !manual.hasAutomaticAxes())
        return WalkResult::skip();
      for (Region &region : op->getRegions())
        for (Value argument : region.getArguments())
          if (failed(verifyValue(argument, mesh, shape)))
            return WalkResult::interrupt();
      return WalkResult::advance();
    });
    if (result.wasInterrupted())
      return signalPassFailure();
    markAllAnalysesPreserved();
  }
};

} // namespace
} // namespace spmdc
