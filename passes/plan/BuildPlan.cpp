//===- BuildPlan.cpp - turns what is left around the kernels into steps ---===//

#include "ir/plan/PlanOps.h"
#include "passes/plan/Liveness.h"
#include "passes/plan/Passes.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

using namespace mlir;

namespace spmdc {

#define GEN_PASS_DEF_BUILDPLAN
#include "passes/plan/Passes.h.inc"

namespace {

class BuildPlanPass : public impl::BuildPlanBase<BuildPlanPass> {
  void runOnOperation() override {
    for (auto func : getOperation().getOps<func::FuncOp>()) {
      int64_t nextId = 0;
      for (Operation &op : llvm::make_early_inc_range(func.getBody().front())) {
        if (auto collective = dyn_cast<CollectiveOpInterface>(op))
          splitCollective(collective, nextId++);
        else if (auto constant = dyn_cast<ConstantOp>(op))
          replaceConstant(constant);
      }
      ownResults(func);
    }
  }

  static void splitCollective(CollectiveOpInterface op, int64_t id) {
    OpBuilder builder(op);
    Value operand = op->getOperand(0), result = op->getResult(0);
    auto start = builder.create<plan::StartOp>(op.getLoc(), plan::TokenType::get(op.getContext()), operand, id,
                                               /*buffers=*/ArrayAttr());
    auto done = builder.create<plan::DoneOp>(op.getLoc(), result.getType(), start.getToken());
    result.replaceAllUsesWith(done.getResult());
    Block &block = start.getBody().emplaceBlock();
    BlockArgument argument = block.addArgument(operand.getType(), operand.getLoc());
    op->moveBefore(&block, block.end());
    op->setOperand(0, argument);
    OpBuilder::atBlockEnd(&block).create<plan::YieldOp>(op.getLoc(), op->getResults());
  }

  static void replaceConstant(ConstantOp op) {
    OpBuilder builder(op);
    Value constant = builder.create<plan::ConstantOp>(op.getLoc(), op.getType(), op.getValue(), ArrayAttr());
    op.getResult().replaceAllUsesWith(constant);
    op.erase();
  }

  /// Each returned value is written by a step of its own, straight into the result.
  static void ownResults(func::FuncOp func) {
    Operation *ret = func.getBody().front().getTerminator();
    OpBuilder builder(ret);
    llvm::DenseSet<Value> taken;
    for (OpOperand &operand : ret->getOpOperands()) {
      Value root = Liveness::getRoot(operand.get());
      bool isWritten = root.getDefiningOp() && !isa<plan::ConstantOp>(root.getDefiningOp());
      if (isWritten && taken.insert(root).second)
        continue;
      auto copy = builder.create<plan::CopyOp>(operand.get().getLoc(), operand.get().getType(), operand.get(),
                                               /*buffers=*/ArrayAttr());
      operand.set(copy.getResult());
    }
  }
};

} // namespace
} // namespace spmdc
