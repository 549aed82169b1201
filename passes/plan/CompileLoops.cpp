//===- CompileLoops.cpp - chooses the loops that one function runs --------===//

#include "ir/plan/PlanOps.h"
#include "ir/spmd/DebugTrace.h"
#include "passes/plan/LoopSteps.h"
#include "passes/plan/Passes.h"
#include "passes/plan/ValueBuffer.h"
#include "runtime/artifact/CopyGrain.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

#include <algorithm>
#include <limits>

using namespace mlir;

namespace spmdc {

#define GEN_PASS_DEF_COMPILELOOPS
#include "passes/plan/Passes.h.inc"

namespace {

DebugTrace trace("compile-loops", "not one function");

/// LLVM takes 1 to 2 ms for the function of a loop, which saves some 10 ns a step: loops of fewer steps would have to
/// run thousands of times.
constexpr double kLeastSteps = 64;

double bytesOf(Value value) { return static_cast<double>(cast<ArrayType>(value.getType()).getBytes()); }

/// The work of a step alone, in units of the least work that is worth a second thread.
double workOf(Operation *step) {
  if (auto launch = dyn_cast<plan::LaunchOp>(step)) {
    auto kernel = SymbolTable::lookupNearestSymbolFrom<plan::KernelOp>(step, launch.getKernelAttr());
    return static_cast<double>(kernel.getExtent().value_or(1)) /
           static_cast<double>(std::max<uint64_t>(1, kernel.getGrain().value_or(1)));
  }
  if (isa<plan::CopyOp>(step))
    return bytesOf(step->getResult(0)) / spmd::copyGrainBytes;
  if (auto call = dyn_cast<plan::LibraryOp>(step)) {
    plan::BufferAttr before = findBuffer(call.getInputs()[0]);
    bool isInPlace = before && before == findBuffer(call.getResult());
    return (bytesOf(call.getInputs()[1]) + (isInPlace ? 0 : bytesOf(call.getResult()))) / spmd::copyGrainBytes;
  }
  return 0;
}

class CompileLoopsPass : public impl::CompileLoopsBase<CompileLoopsPass> {
  void runOnOperation() override {
    for (auto func : getOperation().getOps<func::FuncOp>())
      visit(func.getBody().front());
  }

  void visit(Block &block) {
    for (Operation &step : block) {
      if (isa<plan::ForOp, plan::WhileOp>(step) && canCompile(&step))
        step.setAttr(kCompiledAttrName, UnitAttr::get(&getContext()));
      else if (isa<plan::ForOp, plan::WhileOp, plan::IfOp>(step))
        for (Region &region : step.getRegions())
          visit(region.front());
    }
  }

  static bool canCompile(Operation *loop) {
    WalkResult result = loop->walk<WalkOrder::PreOrder>([&](Operation *step) {
      llvm::StringRef reason = whyNotInFunction(step);
      if (!reason.empty())
        return trace.skip(loop, "a step (", step, ") ", reason), WalkResult::interrupt();
      return WalkResult::advance();
    });
    if (result.wasInterrupted())
      return false;
    // Behind the first walk: only the work of steps that a function may have is known.
    result = loop->walk([&](Operation *step) {
      bool isLarge = isa<plan::ForOp, plan::WhileOp>(step) && workOfIteration(step) > 1;
      return isLarge ? WalkResult::interrupt() : WalkResult::advance();
    });
    if (result.wasInterrupted())
      return trace.skip(loop, "an iteration is worth more than one thread"), false;
    if (double steps = countSteps(loop); steps < kLeastSteps)
      return trace.skip(loop, "it runs only ", static_cast<int64_t>(steps), " steps");
    return true;
  }

  /// The work of one iteration, without that of loops in it; all branches count.
  static double workOfIteration(Operation *loop) {
    double work = 0;
    for (Region &region : loop->getRegions())
      region.walk<WalkOrder::PreOrder>([&](Operation *step) {
        if (isa<plan::ForOp, plan::WhileOp>(step))
          return WalkResult::skip();
        work += workOf(step);
        return WalkResult::advance();
      });
    return work;
  }

  /// The steps that a call runs; those of a `while` are without limit.
  static double countSteps(Operation *step) {
    if (isa<plan::LaunchOp, plan::CopyOp, plan::LibraryOp>(step))
      return 1;
    if (isa<plan::WhileOp>(step))
      return std::numeric_limits<double>::infinity();
    double steps = isa<plan::IfOp>(step) ? 1 : 0;
    for (Region &region : step->getRegions())
      for (Operation &inner : region.front())
        steps += countSteps(&inner);
    auto loop = dyn_cast<plan::ForOp>(step);
    if (!loop)
      return steps;
    auto trips = static_cast<double>(static_cast<int64_t>(loop.getUpper()) - static_cast<int64_t>(loop.getLower()));
    return std::max(0.0, trips) * steps;
  }
};

} // namespace
} // namespace spmdc
