//===- ScheduleCollectives.cpp - transfers under computation --------------===//
//
// Steps are put in order anew. A collective is started as soon as its operand is there. What reads its result is put
// off while there are other steps, which run meanwhile; then the result is waited for, and what was put off follows in
// its old order. Collectives that do not depend on one another are under way together. None crosses a loop, a branch or
// a print.
//
// The steps of a ring (spmdc-collective-matmuls) stand in the order in which each transfer has its product: what reads
// one of them waits for it there, so that the products of later steps are left for their own transfers.
//
// What is under way needs memory: operands are kept, results are taken. So where more would be under way than twice the
// largest collective of the function (or a little, whatever that is), the oldest is waited for first.
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

/// Fewer than a device can have under way (ringSize of runtime/collective/shm).
constexpr size_t kMostUnderWay = 6;
constexpr int64_t kLittle = 1 << 20;

plan::DoneOp doneOf(plan::StartOp start) { return cast<plan::DoneOp>(*start.getToken().user_begin()); }

int64_t bytesOf(plan::StartOp start) {
  return start.getOperand().getType().getBytes() + doneOf(start).getResult().getType().getBytes();
}

/// Whether the step only gives values their names: it costs nothing, and goes where it is needed.
bool isDeferrable(Operation *op) { return isa<plan::DoneOp, ReshapeOp>(op); }

/// Those of a step; of a collective also what it reads beside its operand: the root of a broadcast.
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
      // A loop, a branch or a print stays where it is.
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

  /// Steps between two that stay where they are.
  void schedule(ArrayRef<Operation *> steps) {
    waiting.clear();
    starts.clear();
    putOff.clear();
    for (Operation *op : steps) {
      waiting.insert(op);
      if (auto start = dyn_cast<plan::StartOp>(op))
        starts.push_back(start);
    }
    startEarly();
    for (Operation *op : steps) {
      if (isDeferrable(op) || !waiting.contains(op))
        continue;
      if (!isReady(op, /*mayWaitForRing=*/true)) {
        putOff.push_back(op);
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

  /// The step, behind everything that it needs.
  void emit(Operation *op) {
    auto start = dyn_cast<plan::StartOp>(op);
    while (start && !hasRoom(start)) {
      emit(doneOf(underWay.front()));
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
      underWay.push_back(start);
      bytesUnderWay += bytesOf(start);
    } else if (auto done = dyn_cast<plan::DoneOp>(op)) {
      auto finished = done.getToken().getDefiningOp<plan::StartOp>();
      bytesUnderWay -= bytesOf(finished);
      llvm::erase(underWay, finished);
    }
  }

  /// What was put off and need not be any more: collectives, too, which come before the one that is to be started next.
  /// Else those that can always be started, gathers of parameters, would leave no room for the sums of gradients.
  void resume() {
    std::vector<Operation *> still;
    for (Operation *op : std::exchange(putOff, {})) {
      auto start = dyn_cast<plan::StartOp>(op);
      if (waiting.contains(op) && isReady(op) && (!start || hasRoom(start)))
        emit(op);
      else if (waiting.contains(op))
        still.push_back(op);
    }
    llvm::append_range(putOff, still);
  }

  bool hasRoom(plan::StartOp start) const {
    return underWay.empty() || (underWay.size() < kMostUnderWay && bytesUnderWay + bytesOf(start) <= budget);
  }

  /// Starts collectives whose operands are there.
  void startEarly() {
    for (plan::StartOp start : std::vector(starts))
      if (isReady(start) && hasRoom(start))
        emit(start);
  }

  bool isReady(Operation *op, bool mayWaitForRing = false) const {
    return llvm::all_of(operandsOf(op), [&](Value operand) { return isThere(operand, mayWaitForRing); });
  }

  /// Whether a value has been computed; a name that it gets does not count.
  bool isThere(Value value, bool mayWaitForRing) const {
    Operation *def = value.getDefiningOp();
    if (!def || !waiting.contains(def))
      return true;
    if (auto done = dyn_cast<plan::DoneOp>(def); done && mayWaitForRing) {
      auto start = done.getToken().getDefiningOp<plan::StartOp>();
      return !waiting.contains(start) && start.getBody().front().front().hasAttr(kOverlappedAttrName);
    }
    return isa<ReshapeOp>(def) && isThere(def->getOperand(0), mayWaitForRing);
  }

  Block &block;
  const int64_t budget;
  std::vector<Operation *> order;
  llvm::DenseSet<Operation *> waiting;
  std::vector<plan::StartOp> starts;   ///< Of them, those of collectives.
  std::vector<Operation *> putOff;     ///< Of them, those that depend on what is under way.
  std::vector<plan::StartOp> underWay; ///< In their order.
  int64_t bytesUnderWay = 0;
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
