//===- BuildPlan.cpp - turns operations around kernels into steps ---------===//

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
      nextId = 0;
      buildSteps(func.getBody().front());
      ownResults(func);
    }
  }

  void buildSteps(Block &block) {
    for (Operation &op : llvm::make_early_inc_range(block)) {
      if (auto collective = dyn_cast<CollectiveOpInterface>(op))
        splitCollective(collective, nextId++);
      else if (auto constant = dyn_cast<ConstantOp>(op))
        replaceConstant(constant);
      else if (auto print = dyn_cast<PrintOp>(op))
        replacePrint(print);
      else if (isa<ForOp, WhileOp, IfOp>(op))
        replaceControl(&op);
      else if (auto yield = dyn_cast<YieldOp>(op))
        replaceYield(yield);
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

  /// In a program that was never partitioned, a value's type is its global type.
  static void replacePrint(PrintOp op) {
    OpBuilder builder(op);
    ArrayAttr globals = op.getGlobalsAttr();
    if (!globals)
      globals = builder.getTypeArrayAttr(llvm::to_vector(op.getValues().getTypes()));
    builder.create<plan::PrintOp>(op.getLoc(), op.getTextsAttr(), op.getValues(), globals);
    op.erase();
  }

  static void replaceYield(YieldOp op) {
    OpBuilder(op).create<plan::YieldOp>(op.getLoc(), op.getOperands());
    op.erase();
  }

  void replaceControl(Operation *op) {
    StringRef name = isa<ForOp>(op)     ? plan::ForOp::getOperationName()
                     : isa<WhileOp>(op) ? plan::WhileOp::getOperationName()
                                        : plan::IfOp::getOperationName();
    OperationState state(op->getLoc(), name);
    state.addOperands(op->getOperands());
    state.addTypes(op->getResultTypes());
    state.addAttributes(op->getAttrs());
    for (Region &region : op->getRegions()) {
      buildSteps(region.front());
      state.addRegion()->takeBody(region);
    }
    Operation *step = OpBuilder(op).create(state);
    op->replaceAllUsesWith(step->getResults());
    op->erase();
  }

  /// Makes a separate step write each returned value directly into its result.
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

  int64_t nextId = 0;
};

} // namespace
} // namespace spmdc
