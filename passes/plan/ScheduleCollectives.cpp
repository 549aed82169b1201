//===- ScheduleCollectives.cpp - overlaps transfers and computation -------===//
//
// The pass reorders steps. A collective starts as soon as its operand is available. Readers of its result are delayed
// while other steps can run; then the plan waits for the result, and the delayed steps follow in their old order.
// Independent collectives are pending together. No step crosses a loop, a branch or a print.
//
// The steps of a ring (spmdc-collective-matmuls) keep the order in which each transfer overlaps with its product: a
// reader of a transfer waits for it in place, so that the products of later steps remain for their own transfers.
//
// Pending collectives need memory: for their operands, and for their results. So before the memory of pending
// collectives would exceed twice the largest collective of the function (or a small minimum), the plan waits for the
// oldest one.
//
//===----------------------------------------------------------------------===//

#include "ir/plan/PlanOps.h"
#include "ir/spmd/Overlapped.h"
#include "passes/plan/Passes.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

using namespace mlir;

namespace spmdc {

#define GEN_PASS_DEF_SCHEDULECOLLECTIVES
#include "passes/plan/Passes.h.inc"

namespace {

/// Fewer than a device can have pending (ringSize of runtime/collective/shm).
constexpr size_t kMaxPending = 6;
constexpr int64_t kLittle = 1 << 20;

plan::DoneOp doneOf(plan::StartOp start) { return cast<plan::DoneOp>(*start.getToken().user_begin()); }

int64_t bytesOf(plan::StartOp start) {
  return start.getOperand().getType().getBytes() + doneOf(start).getResult().getType().getBytes();
}

/// True if the step only names values: it costs nothing, and moves to its users.
bool onlyNamesValues(Operation *op) { return isa<plan::DoneOp, ReshapeOp>(op); }

/// The operands of a step; for a collective also the values that its region reads: the root of a broadcast.
SmallVector<Value> operandsOf(Operation *op) {
  SmallVector<Value> operands(op->getOperands());
  if (auto start = dyn_cast<plan::StartOp>(op))
    llvm::append_range(operands, start.getBody().front().front().getOperands().drop_front());
  return operands;
}

class BlockScheduler {
public:
  BlockScheduler(Block &block, int64_t budget) : block(block), budget(budget) {}

  void run() {
    std::vector<Operation *> steps;
    for (Operation &op : block.without_terminator())
      steps.push_back(&op);
    for (size_t begin = 0; begin < steps.size();) {
      size_t end = begin;
      while (end < steps.size() && !staysInPlace(steps[end]))
        ++end;
      schedule(ArrayRef(steps).slice(begin, end - begin));
      // A loop, a branch or a print keeps its place.
      if (end < steps.size())
        order.push_back(steps[end++]);
      begin = end;
    }
    for (Operation *op : order)
      op->moveBefore(block.getTerminator());
  }

private:
  static bool staysInPlace(Operation *op) {
    return isa<plan::PrintOp>(op) || (op->getNumRegions() > 0 && !isa<plan::StartOp>(op));
  }

  /// Schedules the steps between two that keep their places.
  void schedule(ArrayRef<Operation *> steps) {
    waiting.clear();
    starts.clear();
    delayed.clear();
    for (Operation *op : steps) {
      waiting.insert(op);
      if (auto start = dyn_cast<plan::StartOp>(op))
        starts.push_back(start);
    }
    startEarly();
    for (Operation *op : steps) {
      if (onlyNamesValues(op) || !waiting.contains(op))
        continue;
      if (!isReady(op, /*mayWaitForRing=*/true)) {
        delayed.push_back(op);
        continue;
      }
      emit(op);
      startEarly();
    }
    for (Operation *op : steps)
      if (waiting.contains(op)) {
        emit(op);
        startEarly();
      }
  }

  /// Emits the step after everything that it needs.
  void emit(Operation *op) {
    auto start = dyn_cast<plan::StartOp>(op);
    while (start && !hasRoom(start)) {
      emit(doneOf(pending.front()));
      resume();
    }
    for (Value operand : operandsOf(op))
      if (Operation *def = operand.getDefiningOp(); def && waiting.contains(def))
        emit(def);
    if (!waiting.erase(op))
      return;
    order.push_back(op);
    if (start) {
      llvm::erase(starts, start);
      pending.push_back(start);
      pendingBytes += bytesOf(start);
    } else if (auto done = dyn_cast<plan::DoneOp>(op)) {
      auto finished = done.getToken().getDefiningOp<plan::StartOp>();
      pendingBytes -= bytesOf(finished);
      llvm::erase(pending, finished);
    }
  }

  /// Emits the delayed steps that need no longer wait. That includes collectives, before the next one that could start:
  /// otherwise gathers of parameters, which can always start, would leave no room for the sums of gradients.
  void resume() {
    std::vector<Operation *> still;
    for (Operation *op : std::exchange(delayed, {})) {
      auto start = dyn_cast<plan::StartOp>(op);
      if (waiting.contains(op) && isReady(op) && (!start || hasRoom(start)))
        emit(op);
      else if (waiting.contains(op))
        still.push_back(op);
    }
    llvm::append_range(delayed, still);
  }

  bool hasRoom(plan::StartOp start) const {
    return pending.empty() || (pending.size() < kMaxPending && pendingBytes + bytesOf(start) <= budget);
  }

  /// Starts collectives whose operands are available.
  void startEarly() {
    for (plan::StartOp start : std::vector(starts))
      if (isReady(start) && hasRoom(start))
        emit(start);
  }

  bool isReady(Operation *op, bool mayWaitForRing = false) const {
    return llvm::all_of(operandsOf(op), [&](Value operand) { return isAvailable(operand, mayWaitForRing); });
  }

  /// True if a value has been computed; steps that only name it do not count.
  bool isAvailable(Value value, bool mayWaitForRing) const {
    Operation *def = value.getDefiningOp();
    if (!def || !waiting.contains(def))
      return true;
    if (auto done = dyn_cast<plan::DoneOp>(def); done && mayWaitForRing) {
      auto start = done.getToken().getDefiningOp<plan::StartOp>();
      return !waiting.contains(start) && start.getBody().front().front().hasAttr(kOverlappedAttrName);
    }
    return isa<ReshapeOp>(def) && isAvailable(def->getOperand(0), mayWaitForRing);
  }

  Block &block;
  const int64_t budget;
  std::vector<Operation *> order;
  llvm::DenseSet<Operation *> waiting;
  std::vector<plan::StartOp> starts;  ///< The collectives among them.
  std::vector<Operation *> delayed;   ///< The steps among them that depend on pending ones.
  std::vector<plan::StartOp> pending; ///< In the order of their starts.
  int64_t pendingBytes = 0;
};

class ScheduleCollectivesPass : public impl::ScheduleCollectivesBase<ScheduleCollectivesPass> {
  void runOnOperation() override {
    for (auto func : getOperation().getOps<func::FuncOp>()) {
      int64_t largest = 0;
      func.walk([&](plan::StartOp start) { largest = std::max(largest, bytesOf(start)); });
      SmallVector<Block *> blocks;
      func.walk([&](Block *block) {
        if (!isa<plan::StartOp>(block->getParentOp()))
          blocks.push_back(block);
      });
      for (Block *block : blocks)
        if (!block->empty())
          BlockScheduler(*block, std::max(kLittle, 2 * largest)).run();
      int64_t id = 0;
      func.walk<WalkOrder::PreOrder>([&](plan::StartOp start) { start.setId(id++); });
    }
  }
};

} // namespace
} // namespace spmdc
