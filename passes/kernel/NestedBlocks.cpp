//===- NestedBlocks.cpp - blocks of a function and its regions ------------===//

#include "passes/kernel/FreeOperations.h"

#include "passes/kernel/Clusters.h"

#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "llvm/ADT/SetVector.h"

#include <set>

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

void sortLaunches(Block &block) {
  llvm::DenseMap<Operation *, unsigned> waiting;
  llvm::DenseMap<Operation *, SmallVector<Operation *, 2>> readers;
  std::set<std::pair<std::pair<bool, int64_t>, Operation *>> ready; // ordered by the key, which is unique
  llvm::DenseMap<Operation *, std::pair<bool, int64_t>> keys;
  Operation *terminator = block.getTerminator(), *lastOrdered = nullptr;
  for (Operation &op : block) {
    if (&op == terminator)
      continue;
    llvm::SmallSetVector<Operation *, 4> sources;
    op.walk([&](Operation *inner) {
      for (Value operand : inner->getOperands())
        if (Operation *source = operand.getDefiningOp(); source && source->getBlock() == &block)
          sources.insert(source);
    });
    sources.remove(&op);
    if (hasOrderedEffects(&op)) {
      if (lastOrdered)
        sources.insert(lastOrdered);
      lastOrdered = &op;
    }
    keys[&op] = {!isa<plan::LaunchOp>(op), static_cast<int64_t>(keys.size())};
    waiting[&op] = sources.size();
    for (Operation *source : sources)
      readers[source].push_back(&op);
    if (sources.empty())
      ready.insert({keys[&op], &op});
  }
  while (!ready.empty()) {
    Operation *op = ready.begin()->second;
    ready.erase(ready.begin());
    op->moveBefore(terminator);
    for (Operation *reader : readers[op])
      if (--waiting[reader] == 0)
        ready.insert({keys[reader], reader});
  }
}

} // namespace spmdc
