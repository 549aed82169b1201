//===- MemoryEstimate.cpp - how much a device needs at once ---------------===//

#include "passes/collectives/MemoryEstimate.h"

#include "ir/array/LocalBuilder.h"

using namespace mlir;

namespace spmdc {

bool isElementWork(Operation *op) {
  return isa<ElementwiseOpInterface, BroadcastInDimOp, IotaOp, ConstantOp, ReshapeOp, TransposeOp, SliceOp, PadOp,
             ConcatenateOp, ReverseOp>(op);
}

namespace {

/// Whether all users, those of reshapes included, can compute what they read of it themselves.
bool areUsersKernels(Value value) {
  return llvm::all_of(value.getUsers(), [&](Operation *user) {
    if (user->getBlock() != value.getParentBlock())
      return false;
    if (auto reshape = dyn_cast<ReshapeOp>(user))
      return areUsersKernels(reshape.getResult());
    return isElementWork(user) || isa<ReduceOp>(user);
  });
}

/// Whether the operation's result is no array in memory of its own: it is computed where it is needed, or is another
/// name of its operand's memory.
bool isComputedWhereNeeded(Operation *op) {
  return isa<ReshapeOp, ConstantOp>(op) || (isElementWork(op) && areUsersKernels(op->getResult(0)));
}

class PeakSearch {
public:
  MemoryPeak run(func::FuncOp func) {
    search(func.getBody().front(), 0);
    return std::move(peak);
  }

private:
  /// `held`: what is needed around the block all the while.
  void search(Block &block, int64_t held) {
    BlockLiveness liveness(block);
    std::vector<int64_t> released(block.getOperations().size(), 0);
    int64_t live = held;
    for (Operation &op : block) {
      for (Value result : op.getResults())
        if (liveness.hasMemory(result)) {
          live += arrayTypeOf(result).getBytes();
          released[liveness.getLastUse(result)] += arrayTypeOf(result).getBytes();
        }
      path.push_back(&op);
      if (live > peak.bytes)
        peak = {live, SmallVector<Operation *>(llvm::reverse(path))};
      for (Region &region : op.getRegions())
        for (Block &inner : region)
          search(inner, live);
      path.pop_back();
      live -= released[liveness.getNumber(&op)];
    }
  }

  MemoryPeak peak;
  SmallVector<Operation *> path; ///< Inwards.
};

} // namespace

BlockLiveness::BlockLiveness(Block &block) : block(block) {
  int64_t count = 0;
  for (Operation &op : block)
    numbers[&op] = count++;
  // Backwards: until when a value is needed that is computed where it is needed, its users say.
  for (Operation &op : llvm::reverse(block))
    for (Value result : op.getResults()) {
      int64_t last = getNumber(&op);
      for (Operation *user : result.getUsers())
        last = std::max(last, getUseEnd(user));
      lastUses[result] = last;
      if (!isComputedWhereNeeded(&op))
        inMemory.insert(result);
    }
}

int64_t BlockLiveness::getLastUse(Value value) const {
  if (value.getDefiningOp())
    return lastUses.lookup(value);
  int64_t last = 0;
  for (Operation *user : value.getUsers())
    last = std::max(last, getUseEnd(user));
  return last;
}

int64_t BlockLiveness::getUseEnd(Operation *user) const {
  if (user->getBlock() == &block && isComputedWhereNeeded(user))
    return lastUses.lookup(user->getResult(0));
  return getNumber(block.findAncestorOpInBlock(*user));
}

bool BlockLiveness::hasMemory(Value value) const { return inMemory.contains(value); }

MemoryPeak estimateMemoryPeak(func::FuncOp func) { return PeakSearch().run(func); }

} // namespace spmdc
