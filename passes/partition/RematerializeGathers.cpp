//===- RematerializeGathers.cpp - gather again instead of keeping ---------===//
//
// At the point of the program that needs most memory, the gathered array that is not used there and frees most is not
// kept: it is gathered again before its next use. This is repeated until as much is saved as was asked for, or nothing
// more can be. What parameters cut over the data axis need (FSDP, ZeRO-3) is then one layer's at a time.
//
//===----------------------------------------------------------------------===//

#include "ir/array/LocalBuilder.h"
#include "passes/partition/MemoryEstimate.h"
#include "passes/partition/Passes.h"

using namespace mlir;

namespace spmdc {

#define GEN_PASS_DEF_REMATERIALIZEGATHERS
#include "passes/partition/Passes.h.inc"

namespace {

/// A gathered array that need not be kept over the peak.
struct Choice {
  AllGatherOp gather;
  Operation *next = nullptr; ///< Where it is used again, in the block of the gather.
  int64_t saved = 0;         ///< Bytes at the peak.
};

/// The gather as a choice, where the peak is at `atPeak`, an operation of its block.
std::optional<Choice> consider(AllGatherOp gather, Operation *atPeak, const BlockLiveness &liveness) {
  Block *block = gather->getBlock();
  int64_t peak = liveness.getNumber(atPeak);
  if (liveness.getNumber(gather) >= peak || !liveness.hasMemory(gather.getResult()))
    return std::nullopt;
  Operation *next = nullptr;
  bool isUsedBefore = false;
  for (Operation *user : gather.getResult().getUsers()) {
    Operation *use = block->findAncestorOpInBlock(*user);
    if (liveness.getNumber(use) > peak) {
      if (!next || use->isBeforeInBlock(next))
        next = use;
      continue;
    }
    // Used at the peak, or before it by what is computed behind it.
    if (liveness.getNumber(use) == peak || liveness.getUseEnd(user) >= peak)
      return std::nullopt;
    isUsedBefore = true;
  }
  if (!next || !isUsedBefore)
    return std::nullopt;
  // What is gathered is needed for longer, where it is not the function's for good.
  Value operand = gather.getOperand();
  int64_t kept = 0;
  if (Operation *def = operand.getDefiningOp(); def && def->getBlock() == block && liveness.getLastUse(operand) < peak)
    kept = arrayTypeOf(operand).getBytes();
  int64_t saved = arrayTypeOf(gather.getResult()).getBytes() - kept;
  return saved > 0 ? std::optional(Choice{gather, next, saved}) : std::nullopt;
}

/// The one that saves most; of equal ones that which is used again last, so that each is gathered twice at most.
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
    if (freeBytes <= 0)
      return;
    for (auto func : getOperation().getOps<func::FuncOp>())
      run(func);
  }

private:
  void run(func::FuncOp func) {
    MemoryPeak peak = estimateMemoryPeak(func);
    int64_t goal = peak.bytes - freeBytes;
    while (peak.bytes > goal) {
      std::optional<Choice> choice = choose(peak);
      if (!choice)
        return;
      gatherAgain(*choice);
      peak = estimateMemoryPeak(func);
    }
  }
};

} // namespace
} // namespace spmdc
