//===- VerifyPlan.cpp - verifies the plan stage ---------------------------===//

#include "ir/plan/PlanOps.h"
#include "ir/spmd/DefinitionNotes.h"
#include "passes/plan/InPlace.h"
#include "passes/plan/Liveness.h"
#include "passes/plan/LoopSteps.h"
#include "passes/plan/Passes.h"
#include "passes/plan/ValueBuffer.h"

using namespace mlir;

namespace spmdc {

#define GEN_PASS_DEF_VERIFYPLAN
#include "passes/plan/Passes.h.inc"

namespace {

struct Placed {
  Operation *op;
  LiveRanges ranges;
  plan::BufferAttr buffer;
  int64_t bytes;
  Value value; ///< Null for scratch.
};

bool isLoop(Operation *op) { return isa<plan::ForOp, plan::WhileOp>(op); }

class VerifyPlanPass : public impl::VerifyPlanBase<VerifyPlanPass> {
  void runOnOperation() override {
    for (auto func : getOperation().getOps<func::FuncOp>()) {
      plan::StartOp last;
      if (failed(verifySteps(func.getBody().front(), last)) || failed(verifyMemory(func)) ||
          failed(verifyCompiled(func)))
        return signalPassFailure();
    }
    markAllAnalysesPreserved();
  }

  /// `last`: the transfer in front of the block that started last, null if there is none.
  static LogicalResult verifySteps(Block &block, plan::StartOp &last) {
    for (Operation &op : block) {
      if (auto start = dyn_cast<plan::StartOp>(op)) {
        if (last && start.getId() <= last.getId()) {
          InFlightDiagnostic error = op.emitOpError()
                                     << "has number " << start.getId() << " after number " << last.getId();
          error.attachNote(last.getLoc()) << "number " << last.getId() << " is here";
          return error;
        }
        last = start;
      }
      if (isa<ReshapeOp, func::ReturnOp, plan::DoneOp, plan::PrintOp, plan::YieldOp>(op))
        continue;
      bool hasBlocks = isa<plan::IfOp, plan::ForOp, plan::WhileOp>(op);
      if (!hasBlocks &&
          !isa<plan::LaunchOp, plan::MatmulOp, plan::StartOp, plan::CopyOp, plan::LibraryOp, plan::ConstantOp>(op))
        return op.emitOpError("is left among the steps of the plan");
      auto buffers = op.getAttrOfType<ArrayAttr>("buffers");
      if (!buffers)
        return op.emitOpError("has no buffers");
      unsigned expected = op.getNumResults() + isa<plan::ForOp>(op);
      if (buffers.size() < expected)
        return op.emitOpError() << "has " << buffers.size() << " buffers for " << expected << " values";
      if (!hasBlocks)
        continue;
      for (Region &region : op.getRegions())
        if (failed(verifySteps(region.front(), last)))
          return failure();
      if (failed(verifyHomes(&op)))
        return failure();
    }
    return success();
  }

  /// The initial values of a loop, the values that its body yields, and those that branches yield are in the memory of
  /// the results: nothing moves them.
  static LogicalResult verifyHomes(Operation *op) {
    for (OpResult result : op->getResults()) {
      unsigned index = result.getResultNumber();
      auto verify = [&](Value value) -> LogicalResult {
        if (findBuffer(value) == findBuffer(result))
          return success();
        return failWithDefinitions(op->emitOpError() << "has value " << index << " in another buffer than its result",
                                   {{value, "the value"}});
      };
      if (isLoop(op) && failed(verify(op->getOperand(index))))
        return failure();
      for (Region &region : op->getRegions()) {
        bool isCondition = isa<plan::WhileOp>(op) && &region == &op->getRegions().front();
        if (!isCondition && failed(verify(region.front().getTerminator()->getOperand(index))))
          return failure();
      }
    }
    return success();
  }

  /// The function of a compiled loop runs all steps in it, which must be such as a function can run.
  static LogicalResult verifyCompiled(func::FuncOp func) {
    WalkResult result = func.walk<WalkOrder::PreOrder>([&](Operation *loop) {
      if (!loop->hasAttr(kCompiledAttrName))
        return WalkResult::advance();
      if (!isLoop(loop))
        return WalkResult(loop->emitOpError("is compiled, but is not a loop"));
      return loop->walk([&](Operation *step) {
        if (step != loop && step->hasAttr(kCompiledAttrName))
          return WalkResult(step->emitOpError("is compiled, but is in another compiled loop"));
        if (llvm::StringRef reason = whyNotInFunction(step); !reason.empty())
          return WalkResult(step->emitOpError() << reason << ", which a compiled loop cannot have");
        return WalkResult::advance();
      });
    });
    return failure(result.wasInterrupted());
  }

  /// Verifies, without the algorithm that chose the buffers, that no two live values share a byte.
  static LogicalResult verifyMemory(func::FuncOp func) {
    Liveness liveness(func);
    SmallVector<Placed> placed;
    for (const auto &entry : liveness.getRanges()) {
      Value value = entry.first;
      const LiveRanges &ranges = entry.second;
      Operation *step = value.getDefiningOp() ? value.getDefiningOp() : value.getParentBlock()->getParentOp();
      placed.push_back({step, ranges, findBuffer(value), cast<ArrayType>(value.getType()).getBytes(), value});
      auto matmul = dyn_cast<plan::MatmulOp>(step);
      if (!matmul || matmul.getBuffersAttr().size() < 2)
        continue;
      auto kernel = SymbolTable::lookupNearestSymbolFrom<plan::KernelOp>(step, matmul.getEpilogueAttr());
      LiveRanges now;
      now.add({liveness.getStep(matmul), liveness.getStep(matmul)});
      placed.push_back({step, now, cast<plan::BufferAttr>(matmul.getBuffersAttr()[1]),
                        cast<ArrayType>(kernel.getBlock().getArgument(0).getType()).getBytes(), Value()});
    }
    // Compares each value with those that begin no later and have not ended.
    SmallVector<std::pair<int64_t, const Placed *>> byBegin;
    for (const Placed &one : placed)
      byBegin.emplace_back(one.ranges.getBegin(), &one);
    llvm::sort(byBegin); // Ties are in program order, which is that of their addresses.
    SmallVector<const Placed *> alive;
    for (auto [begin, later] : byBegin) {
      const Placed &x = *later;
      llvm::erase_if(alive, [&](const Placed *y) { return y->ranges.getEnd() < begin; });
      for (const Placed *y : alive) {
        if (!shareMemory(x, *y) || !x.ranges.overlaps(y->ranges) || isTakenOver(x, *y, liveness) ||
            isTakenOver(*y, x, liveness))
          continue;
        InFlightDiagnostic error = x.op->emitOpError("shares memory with a value that is live at the same time");
        error.attachNote(y->op->getLoc()) << "the other value is defined here";
        return error;
      }
      alive.push_back(&x);
    }
    return success();
  }

  static bool shareMemory(const Placed &x, const Placed &y) {
    if (x.buffer.getSpace() != y.buffer.getSpace() || x.bytes == 0 || y.bytes == 0)
      return false;
    int64_t xBegin = x.buffer.getPosition(), yBegin = y.buffer.getPosition();
    return x.buffer.getSpace() == "result" ? xBegin == yBegin : xBegin < yBegin + y.bytes && yBegin < xBegin + x.bytes;
  }

  /// True if the later value takes the memory of an input that dies with its kernel, or is the carry whose initial
  /// value is the earlier one.
  static bool isTakenOver(const Placed &later, const Placed &earlier, const Liveness &liveness) {
    if (!later.value || !earlier.value || later.buffer != earlier.buffer ||
        earlier.ranges.overlapsBeyond(liveness.getStep(later.op), later.ranges))
      return false;
    if (auto launch = dyn_cast<plan::LaunchOp>(later.op))
      return mayOverwrite(launch, earlier.value, cast<OpResult>(later.value).getResultNumber());
    if (auto call = dyn_cast<plan::LibraryOp>(later.op))
      return mayOverwrite(call, earlier.value);
    auto argument = dyn_cast<BlockArgument>(later.value);
    if (!argument || !isLoop(later.op))
      return false;
    bool isFor = isa<plan::ForOp>(later.op);
    return (!isFor || argument.getArgNumber() > 0) &&
           Liveness::getRoot(later.op->getOperand(argument.getArgNumber() - isFor)) == earlier.value;
  }
};

} // namespace
} // namespace spmdc
