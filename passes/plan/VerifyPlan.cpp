//===- VerifyPlan.cpp - checks the exit of the plan leg -------------------===//

#include "ir/plan/PlanOps.h"
#include "passes/plan/InPlace.h"
#include "passes/plan/Liveness.h"
#include "passes/plan/Passes.h"

using namespace mlir;

namespace spmdc {

#define GEN_PASS_DEF_VERIFYPLAN
#include "passes/plan/Passes.h.inc"

namespace {

struct Placed {
  Operation *op;
  LiveRange range;
  plan::BufferAttr buffer;
  int64_t bytes;
  Value value; ///< Null for scratch.
};

class VerifyPlanPass : public impl::VerifyPlanBase<VerifyPlanPass> {
  void runOnOperation() override {
    for (auto func : getOperation().getOps<func::FuncOp>())
      if (failed(verifySteps(func)) || failed(verifyMemory(func)))
        return signalPassFailure();
    markAllAnalysesPreserved();
  }

  /// The later value takes the place of an input that dies with its kernel.
  static bool isTakenOver(const Placed &later, const Placed &earlier) {
    auto launch = dyn_cast<plan::LaunchOp>(later.op);
    return launch && later.value && earlier.value && later.buffer == earlier.buffer &&
           earlier.range.end == later.range.begin && earlier.range.begin < later.range.begin &&
           mayOverwrite(launch, earlier.value, cast<OpResult>(later.value).getResultNumber());
  }

  static LogicalResult verifySteps(func::FuncOp func) {
    int64_t lastId = -1;
    for (Operation &op : func.getBody().front()) {
      if (auto start = dyn_cast<plan::StartOp>(op)) {
        if (static_cast<int64_t>(start.getId()) <= lastId)
          return op.emitOpError() << "has number " << start.getId() << " after number " << lastId;
        lastId = static_cast<int64_t>(start.getId());
      }
      if (isa<ReshapeOp, func::ReturnOp, plan::DoneOp, plan::PrintOp>(op))
        continue;
      if (!isa<plan::LaunchOp, plan::MatmulOp, plan::StartOp, plan::CopyOp, plan::ConstantOp>(op))
        return op.emitOpError("is left among the steps of the plan");
      if (!op.getAttrOfType<ArrayAttr>("buffers"))
        return op.emitOpError("has no buffers");
    }
    return success();
  }

  /// Independent of how the buffers were chosen: no two live values share a byte.
  static LogicalResult verifyMemory(func::FuncOp func) {
    Liveness liveness(func);
    SmallVector<Placed> placed;
    for (auto &[value, range] : liveness.getRanges()) {
      Operation *step = value.getDefiningOp();
      unsigned index = cast<OpResult>(value).getResultNumber();
      if (auto done = dyn_cast<plan::DoneOp>(step))
        step = done.getToken().getDefiningOp();
      auto buffers = step->getAttrOfType<ArrayAttr>("buffers");
      if (index >= buffers.size())
        return step->emitOpError("has fewer buffers than results");
      placed.push_back(
          {step, range, cast<plan::BufferAttr>(buffers[index]), cast<ArrayType>(value.getType()).getBytes(), value});
      auto matmul = dyn_cast<plan::MatmulOp>(step);
      if (matmul && buffers.size() > 1) {
        auto kernel = SymbolTable::lookupNearestSymbolFrom<plan::KernelOp>(step, matmul.getEpilogueAttr());
        placed.push_back({step,
                          {range.begin, range.begin},
                          cast<plan::BufferAttr>(buffers[1]),
                          cast<ArrayType>(kernel.getBlock().getArgument(0).getType()).getBytes(),
                          Value()});
      }
    }
    for (size_t i = 0; i < placed.size(); ++i)
      for (size_t j = 0; j < i; ++j) {
        const Placed &x = placed[i], &y = placed[j];
        bool isSameSpace = x.buffer.getSpace() == y.buffer.getSpace();
        bool isShared = x.buffer.getSpace() == "result" ? x.buffer.getPosition() == y.buffer.getPosition()
                                                        : x.buffer.getPosition() < y.buffer.getPosition() + y.bytes &&
                                                              y.buffer.getPosition() < x.buffer.getPosition() + x.bytes;
        if (isSameSpace && isShared && x.bytes > 0 && y.bytes > 0 && x.range.overlaps(y.range) && !isTakenOver(x, y) &&
            !isTakenOver(y, x)) {
          InFlightDiagnostic error = x.op->emitOpError("shares memory with a value that is alive at the same time");
          error.attachNote(y.op->getLoc()) << "the other one is defined here";
          return error;
        }
      }
    return success();
  }
};

} // namespace
} // namespace spmdc
