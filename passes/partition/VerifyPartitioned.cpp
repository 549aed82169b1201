//===- VerifyPartitioned.cpp - checks the partitioned program -------------===//

#include "ir/spmd/SpmdOps.h"
#include "passes/partition/Passes.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

using namespace mlir;

namespace spmdc {

#define GEN_PASS_DEF_VERIFYPARTITIONED
#include "passes/partition/Passes.h.inc"

namespace {

bool isSharded(Type type) {
  auto array = dyn_cast<ArrayType>(type);
  return array && array.getSharding();
}

class VerifyPartitionedPass : public impl::VerifyPartitionedBase<VerifyPartitionedPass> {
  void runOnOperation() override {
    WalkResult result = getOperation().walk([](Operation *op) -> WalkResult {
      if (isa<ReshardOp, ConstraintOp, ShardingGroupOp>(op)) {
        op->emitOpError("is left after partitioning");
        return WalkResult::interrupt();
      }
      if (llvm::any_of(op->getResultTypes(), isSharded) || llvm::any_of(op->getOperandTypes(), isSharded)) {
        op->emitOpError("still has a sharded array after partitioning");
        return WalkResult::interrupt();
      }
      auto func = dyn_cast<func::FuncOp>(op);
      if (!func)
        return WalkResult::advance();
      for (unsigned i = 0; i < func.getNumArguments(); ++i)
        if (!func.getArgAttr(i, kGlobalTypeAttrName))
          return func.emitOpError() << "argument " << i << " lacks its global type", WalkResult::interrupt();
      for (unsigned i = 0; i < func.getNumResults(); ++i)
        if (!func.getResultAttr(i, kGlobalTypeAttrName))
          return func.emitOpError() << "result " << i << " lacks its global type", WalkResult::interrupt();
      return WalkResult::advance();
    });
    if (result.wasInterrupted())
      return signalPassFailure();
    markAllAnalysesPreserved();
  }
};

} // namespace
} // namespace spmdc
