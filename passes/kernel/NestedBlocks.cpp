//===- NestedBlocks.cpp - blocks of a function and its regions ------------===//

#include "passes/kernel/NestedBlocks.h"

#include "passes/kernel/Clusters.h"

#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace mlir;

namespace spmdc {
namespace {

/// True if a copy of the operation costs no more than a read of its result: it has no operands, or it repeats values
/// that are in memory anyway.
bool isWorthCopying(Operation *op) {
  if (!isFreeOp(op))
    return false;
  return isa<BroadcastInDimOp>(op) || llvm::all_of(op->getOperands(), [](Value operand) {
           return operand.getDefiningOp() && isWorthCopying(operand.getDefiningOp());
         });
}

class Sinker {
public:
  explicit Sinker(Block &block) : block(block) {}

  void run() {
    for (Operation &op : llvm::make_early_inc_range(block))
      if (isKernelOp(&op))
        localizeOperands(&op);
  }

private:
  void localizeOperands(Operation *op) {
    for (OpOperand &operand : op->getOpOperands()) {
      Operation *source = operand.get().getDefiningOp();
      if (source && source->getBlock() != &block && isWorthCopying(source))
        operand.set(localize(source, op));
    }
  }

  Value localize(Operation *source, Operation *before) {
    Operation *&copy = copies[source];
    if (!copy) {
      Operation *made = OpBuilder(before).clone(*source);
      copy = made;
      localizeOperands(made);
      return made->getResult(0);
    }
    return copy->getResult(0);
  }

  Block &block;
  DenseMap<Operation *, Operation *> copies;
};

} // namespace

SmallVector<Block *> getNestedBlocks(func::FuncOp function) {
  SmallVector<Block *> blocks;
  function.walk<WalkOrder::PreOrder>([&](Operation *op) {
    for (Region &region : op->getRegions())
      for (Block &block : region)
        blocks.push_back(&block);
  });
  return blocks;
}

void sinkFreeOperations(func::FuncOp function) {
  SmallVector<Block *> blocks = getNestedBlocks(function);
  for (Block *block : llvm::drop_begin(blocks))
    Sinker(*block).run();
}

bool hasOrderedEffects(Operation *op) { return !op->hasTrait<OpTrait::IsTerminator>() && !isMemoryEffectFree(op); }

} // namespace spmdc
