//===- MemoryEstimate.cpp - estimates the peak memory of a device ---------===//

#include "passes/collectives/MemoryEstimate.h"

#include "ir/array/LocalBuilder.h"

using namespace mlir;

namespace spmdc {

bool isFusible(Operation *op) {
  return isa<ElementwiseOpInterface, BroadcastInDimOp, IotaOp, ConstantOp, ReshapeOp, TransposeOp, SliceOp, PadOp,
             ConcatenateOp, ReverseOp>(op);
}

namespace {

/// Whether all users, seen through reshapes, become kernels that can compute the elements that they read.
bool areUsersKernels(Value value) {
  return llvm::all_of(value.getUsers(), [&](Operation *user) {
    if (user->getBlock() != value.getParentBlock())
      return false;
    if (auto reshape = dyn_cast<ReshapeOp>(user))
      return areUsersKernels(reshape.getResult());
    return isFusible(user) || isa<ReduceOp>(user);
  });
}

/// Whether the operation's result needs no memory of its own: it is fused into its users, or aliases its operand.
bool isComputedWhereNeeded(Operation *op) {
  return isa<ReshapeOp, ConstantOp>(op) || (isFusible(op) && areUsersKernels(op->getResult(0)));
}

class PeakSearch {
public:
  MemoryPeak run(func::FuncOp func) {
    search(func.getBody().front(), 0);
    return std::move(peak);
  }

private:
  /// `held`: the bytes that are live during the entire block.
  void search(Block &block, int64_t held) {
    BlockLiveness liveness(block);
    std::vector<int64_t> released(block.getOperations().size(), 0);
    int64_t live = held;
    for (Operation &op : block) {
      for (Value result : op.getResults())
        if (liveness.hasMemory(result)) {
          live += typeOf(result).getBytes();
          released[liveness.getLastUse(result)] += typeOf(result).getBytes();
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
  SmallVector<Operation *> path; ///< The current operation (last) and those around it, outermost first.
};

} // namespace

BlockLiveness::BlockLiveness(Block &block) : block(block) {
  int64_t count = 0;
  for (Operation &op : block)
    numbers[&op] = count++;
  // Backwards, because the operand of a fused operation is needed until that operation's last use.
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
