//===- RematerializeGathers.cpp - gather again instead of keeping ---------===//
//
// The pass looks at the point of the program that needs most memory. Of the gathered arrays that are live but not used
// there, it gathers the one that frees most again before its next use. It repeats this until `free` bytes are saved or
// nothing more can be. With parameters sharded over the data axis (FSDP, ZeRO-3), only one layer's gathered parameters
// are then live at a time.
//
// If that does not suffice and the point is in a loop or a branch, values that were computed in front of it for another
// part of it (gathered arrays, and element-wise results) are computed inside: in each iteration of a loop.
//
//===----------------------------------------------------------------------===//

#include "ir/array/LocalBuilder.h"
#include "ir/spmd/DebugTrace.h"
#include "passes/collectives/MemoryEstimate.h"
#include "passes/collectives/Passes.h"
#include "passes/strategy/ComputeTime.h"

#include "mlir/IR/IRMapping.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;

namespace spmdc {

#define GEN_PASS_DEF_REMATERIALIZEGATHERS
#include "passes/collectives/Passes.h.inc"

namespace {

DebugTrace trace("rematerialize-gathers", "not gathered again");

/// A gathered array that need not be live at the peak.
struct Choice {
  AllGatherOp gather;
  Operation *next = nullptr; ///< The next operation behind the peak, in the block of the gather, that uses it.
  int64_t saved = 0;         ///< Bytes at the peak.
};

/// The gather as a `Choice`, if it need not be live at `atPeak`, the operation of its block at the peak; else none.
std::optional<Choice> consider(AllGatherOp gather, Operation *atPeak, const BlockLiveness &liveness) {
  Block *block = gather->getBlock();
  int64_t peak = liveness.getNumber(atPeak);
  if (liveness.getNumber(gather) >= peak || !liveness.hasMemory(gather.getResult()))
    return trace.skip(gather, "it is not live at the peak"), std::nullopt;
  Operation *next = nullptr;
  bool isUsedBefore = false;
  for (Operation *user : gather.getResult().getUsers()) {
    Operation *use = block->findAncestorOpInBlock(*user);
    if (liveness.getNumber(use) > peak) {
      if (!next || use->isBeforeInBlock(next))
        next = use;
      continue;
    }
    // It is used at the peak, or by an earlier operation that is fused into one behind the peak.
    if (liveness.getNumber(use) == peak || liveness.getUseEnd(user) >= peak)
      return trace.skip(gather, "it is used at the peak (", user, ")"), std::nullopt;
    isUsedBefore = true;
  }
  if (!next || !isUsedBefore)
    return trace.skip(gather, next ? "nothing uses it before the peak" : "nothing uses it behind the peak"),
           std::nullopt;
  // The operand must stay live until the repeated gather. An operand from outside the block is live anyway.
  Value operand = gather.getOperand();
  int64_t kept = 0;
  if (Operation *def = operand.getDefiningOp(); def && def->getBlock() == block && liveness.getLastUse(operand) < peak)
    kept = typeOf(operand).getBytes();
  int64_t saved = typeOf(gather.getResult()).getBytes() - kept;
  if (saved <= 0)
    return trace.skip(gather, "its operand, which must be kept instead, is as large"), std::nullopt;
  return Choice{gather, next, saved};
}

/// The gather that saves most; among equal ones that with the latest next use, so that each is gathered at most twice.
std::optional<Choice> choose(const MemoryPeak &peak) {
  std::optional<Choice> best;
  for (Operation *atPeak : peak.path) {
    BlockLiveness liveness(*atPeak->getBlock());
    for (auto gather : atPeak->getBlock()->getOps<AllGatherOp>()) {
      std::optional<Choice> choice = consider(gather, atPeak, liveness);
      if (!choice)
        continue;
      bool isBetter = !best || choice->saved > best->saved;
      bool isEqual = best && choice->saved == best->saved && choice->next->getBlock() == best->next->getBlock();
      if (isBetter || (isEqual && best->next->isBeforeInBlock(choice->next)))
        best = choice;
    }
  }
  return best;
}

/// Whether a loop may repeat the operation in each iteration.
bool isCheap(Operation *op) { return isa<AllGatherOp>(op) || isFusible(op); }

/// An array that is computed before an operation with regions and used in one of them, away from the peak.
struct InnerChoice {
  SmallVector<Operation *> chain; ///< The operations that compute it, in program order; the last one defines it.
  Operation *around = nullptr;    ///< The operation with regions.
  Operation *firstUser = nullptr; ///< The first user, in the block of the region.
  int64_t saved = 0;              ///< Bytes at the peak.
};

/// The most operations that are repeated in each iteration to save one array.
constexpr size_t kLongestChain = 32;

/// The cheap operations that compute the result of `op` and whose results are not live at `end` otherwise, in program
/// order. Adds to `kept` the bytes of operands that must stay live longer. Empty beyond `kLongestChain` operations.
SmallVector<Operation *> collectChain(Operation *op, int64_t end, const BlockLiveness &liveness, int64_t &kept) {
  llvm::SetVector<Operation *> chain;
  llvm::SetVector<Value> others;
  chain.insert(op);
  for (size_t i = 0; i < chain.size(); ++i)
    for (Value operand : chain[i]->getOperands()) {
      Operation *def = operand.getDefiningOp();
      if (!def || def->getBlock() != op->getBlock() || liveness.getLastUse(operand) >= end)
        continue;
      if (isCheap(def))
        chain.insert(def);
      else if (liveness.hasMemory(operand) && others.insert(operand))
        kept += typeOf(operand).getBytes();
      if (chain.size() > kLongestChain)
        return {};
    }
  SmallVector<Operation *> ordered = chain.takeVector();
  llvm::sort(ordered, [](Operation *x, Operation *y) { return x->isBeforeInBlock(y); });
  return ordered;
}

/// The operation's result as an `InnerChoice`, if the peak is at or in `inner`, an operation of a region of `around`.
std::optional<InnerChoice> considerInside(Operation *op, Operation *around, Operation *inner,
                                          const BlockLiveness &outside, const BlockLiveness &inside) {
  if (!isCheap(op) || !op->isBeforeInBlock(around) || !outside.hasMemory(op->getResult(0)) ||
      outside.getLastUse(op->getResult(0)) != outside.getNumber(around))
    return std::nullopt;
  InnerChoice choice;
  choice.around = around;
  int64_t peak = inside.getNumber(inner), last = -1;
  for (Operation *user : op->getUsers()) {
    if (user->getBlock() == op->getBlock()) {
      if (outside.getUseEnd(user) >= outside.getNumber(around))
        return std::nullopt; // The user is fused into an operation behind the regions.
      continue;
    }
    if (!around->isProperAncestor(user))
      continue;
    // The loop would gather the full array to read a part; fetching the parts sends less (kLowMemoryAttrName).
    if (!isa<IfOp>(around) && readsPartOfFirstOperand(user))
      return std::nullopt;
    Operation *use = inner->getBlock()->findAncestorOpInBlock(*user);
    if (!use)
      return std::nullopt; // The user is in another region: the condition of the loop.
    if (!choice.firstUser || use->isBeforeInBlock(choice.firstUser))
      choice.firstUser = use;
    last = std::max(last, inside.getUseEnd(user));
  }
  if (!choice.firstUser || (inside.getNumber(choice.firstUser) <= peak && peak <= last))
    return std::nullopt;
  int64_t kept = 0;
  choice.chain = collectChain(op, outside.getNumber(around), outside, kept);
  choice.saved = typeOf(op->getResult(0)).getBytes() - kept;
  return choice.saved > 0 && !choice.chain.empty() ? std::optional(std::move(choice)) : std::nullopt;
}

/// The array that saves most; among equal ones the innermost and first. It is moved into as few nested loops as
/// suffice.
std::optional<InnerChoice> chooseInside(const MemoryPeak &peak) {
  std::optional<InnerChoice> best;
  std::vector<BlockLiveness> liveness;
  for (Operation *atPeak : peak.path)
    liveness.emplace_back(*atPeak->getBlock());
  for (size_t depth = 1; depth < peak.path.size(); ++depth) {
    Operation *around = peak.path[depth];
    for (Operation &op : *around->getBlock()) {
      if (&op == around)
        break;
      if (op.getNumResults() != 1)
        continue;
      std::optional<InnerChoice> choice;
      for (size_t inner = depth; inner-- > 0 && !choice;)
        choice = considerInside(&op, around, peak.path[inner], liveness[depth], liveness[inner]);
      if (choice && (!best || choice->saved > best->saved))
        best = std::move(choice);
    }
  }
  return best;
}

void makeInside(const InnerChoice &choice) {
  OpBuilder builder(choice.firstUser);
  IRMapping made;
  const char *where = isa<IfOp>(choice.around) ? "; gathered in the branch" : "; gathered in each iteration";
  for (Operation *op : choice.chain)
    if (auto gather = dyn_cast<AllGatherOp>(builder.clone(*op, made)))
      gather.setWhy(gather.getWhy().value_or("").str() + where +
                    ", so that it need not be kept in memory all the while");
  Value value = choice.chain.back()->getResult(0);
  value.replaceUsesWithIf(made.lookup(value),
                          [&](OpOperand &use) { return choice.around->isProperAncestor(use.getOwner()); });
  for (Operation *op : llvm::reverse(choice.chain))
    if (op->use_empty())
      op->erase();
}

void gatherAgain(Choice choice) {
  OpBuilder builder(choice.next);
  auto again = cast<AllGatherOp>(builder.clone(*choice.gather));
  again.setWhy(choice.gather.getWhy().value_or("").str() +
               "; gathered again, so that it need not be kept in memory until here");
  Block *block = choice.next->getBlock();
  choice.gather.getResult().replaceUsesWithIf(again.getResult(), [&](OpOperand &use) {
    Operation *user = block->findAncestorOpInBlock(*use.getOwner());
    return user == choice.next || choice.next->isBeforeInBlock(user);
  });
}

class RematerializeGathersPass : public impl::RematerializeGathersBase<RematerializeGathersPass> {
public:
  using RematerializeGathersBase::RematerializeGathersBase;

  void runOnOperation() override {
    if (freeBytes <= 0) {
      trace.noteAt(getOperation().getLoc(), "no memory has to be saved");
      return;
    }
    for (auto func : getOperation().getOps<func::FuncOp>())
      run(func);
  }

private:
  void run(func::FuncOp func) {
    MemoryPeak peak = estimateMemoryPeak(func);
    int64_t goal = peak.bytes - freeBytes;
    std::optional<DebugTrace::Pause> untilTheEnd(std::in_place);
    while (peak.bytes > goal) {
      if (std::optional<Choice> choice = choose(peak))
        gatherAgain(*choice);
      else if (std::optional<InnerChoice> inner = chooseInside(peak))
        makeInside(*inner);
      else
        break;
      peak = estimateMemoryPeak(func);
    }
    untilTheEnd.reset();
    if (peak.bytes > goal && trace.isOn()) {
      trace.noteAt(func.getLoc(), "the peak stays at ", peak.bytes, " bytes; wanted: ", goal);
      choose(peak);
    }
  }
};

} // namespace
} // namespace spmdc
