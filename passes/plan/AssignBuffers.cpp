//===- AssignBuffers.cpp - assigns memory to every value ------------------===//
//
// Storages decides which values share memory and which have to be copied. This pass gives storages their places, turns
// moves into plan.copy steps, and sets `buffers` of each step.
//
//===----------------------------------------------------------------------===//

#include "ir/plan/PlanOps.h"
#include "passes/kernel/Overwrites.h"
#include "passes/plan/InPlace.h"
#include "passes/plan/Passes.h"
#include "passes/plan/Storages.h"
#include "runtime/support/ArraySize.h"

#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace spmdc {

#define GEN_PASS_DEF_ASSIGNBUFFERS
#include "passes/plan/Passes.h.inc"

namespace {

/// A cache line, and the widest vector.
constexpr int64_t kAlignment = 64;

/// One copy before a step. Its source is the step's operand, or, if that is about to be overwritten, an earlier copy of
/// the operand.
struct Copy {
  Operation *step;
  unsigned operand;
  size_t target;
  std::optional<size_t> savedBy; ///< The number of the copy that saved the operand.
  bool isSave = false;           ///< Only saves the operand for a later copy.
};

class FunctionAssigner {
public:
  explicit FunctionAssigner(func::FuncOp func) : func(func), liveness(func), storages(func, liveness) {}

  LogicalResult run() {
    func.walk([&](plan::MatmulOp op) {
      if (needsProduct(op))
        products[op] = storages.addScratch(productBytes(op), liveness.getStep(op));
    });
    orderMoves();
    if (failed(allocate()))
      return failure();
    func.walk<WalkOrder::PreOrder>([&](Operation *op) { annotate(op); });
    makeCopies();
    return success();
  }

private:
  /// An epilogue works in place if its result may overwrite the product; otherwise the product needs its own memory.
  static int64_t productBytes(plan::MatmulOp op) {
    auto kernel = SymbolTable::lookupNearestSymbolFrom<plan::KernelOp>(op, op.getEpilogueAttr());
    return cast<ArrayType>(kernel.getBlock().getArgument(0).getType()).getBytes();
  }
  static bool needsProduct(plan::MatmulOp op) {
    return op.getEpilogueAttr() &&
           !canOverwrite(SymbolTable::lookupNearestSymbolFrom<plan::KernelOp>(op, op.getEpilogueAttr()), 0, 0);
  }

  //===--------------------------------------------------------------------===//
  // Moves
  //===--------------------------------------------------------------------===//

  /// The moves before one step have parallel semantics. A move goes first if no other move still reads its target; if
  /// each target is read by another move (two carries that swap), one source is saved in scratch memory.
  void orderMoves() {
    ArrayRef<PendingCopy> all = storages.getMoves();
    while (!all.empty()) {
      Operation *step = all.front().step;
      ArrayRef<PendingCopy> group = all.take_while([&](const PendingCopy &move) { return move.step == step; });
      all = all.drop_front(group.size());
      std::vector<PendingCopy> pending(group.begin(), group.end());
      DenseMap<unsigned, size_t> saved; // from operand to the copy that saves it
      auto readsFrom = [&](const PendingCopy &move, size_t target) {
        return !saved.contains(move.operand) && storages.find(step->getOperand(move.operand)) == target;
      };
      while (!pending.empty()) {
        auto next = llvm::find_if(pending, [&](const PendingCopy &move) {
          return llvm::none_of(pending, [&](const PendingCopy &other) {
            return other.operand != move.operand && readsFrom(other, move.target);
          });
        });
        if (next == pending.end()) {
          auto reader = llvm::find_if(pending, [&](const PendingCopy &other) {
            return other.operand != pending.front().operand && readsFrom(other, pending.front().target);
          });
          int64_t bytes = cast<ArrayType>(step->getOperand(reader->operand).getType()).getBytes();
          saved[reader->operand] = copies.size();
          copies.push_back({step, reader->operand, storages.addScratch(bytes, liveness.getStep(step)), {}, true});
          continue;
        }
        auto save = saved.find(next->operand);
        copies.push_back({step, next->operand, next->target,
                          save == saved.end() ? std::nullopt : std::optional<size_t>(save->second), false});
        pending.erase(next);
      }
    }
  }

  void makeCopies() {
    std::vector<Value> made;
    for (const Copy &copy : copies) {
      OpBuilder builder(copy.step);
      Value source = copy.savedBy ? made[*copy.savedBy] : copy.step->getOperand(copy.operand);
      auto op = builder.create<plan::CopyOp>(copy.step->getLoc(), source.getType(), source,
                                             builder.getArrayAttr(placeOf(copy.target)));
      made.push_back(op.getResult());
      if (!copy.isSave)
        pendingOperands.push_back({copy.step, copy.operand, op.getResult()});
    }
    // Only at the end: later copies of a step still read its original operands.
    for (auto &[step, operand, value] : pendingOperands)
      step->setOperand(operand, value);
  }

  //===--------------------------------------------------------------------===//
  // Places
  //===--------------------------------------------------------------------===//

  /// Assigns places: largest storage first, each to a result that is not written yet, or else at the lowest free offset
  /// of the arena.
  LogicalResult allocate() {
    std::vector<size_t> order, hosts;
    for (size_t index : storages.list()) {
      if (!storages.get(index).result)
        order.push_back(index);
      else if (!mayBecomeParameter(storages.get(index)))
        hosts.push_back(index);
    }
    // Ties are in program order. The smallest results first: a large one may have room for a larger storage.
    auto bytes = [&](size_t index) { return storages.get(index).bytes; };
    llvm::sort(order, [&](size_t x, size_t y) { return std::pair(bytes(y), x) < std::pair(bytes(x), y); });
    llvm::sort(hosts, [&](size_t x, size_t y) { return std::pair(bytes(x), x) < std::pair(bytes(y), y); });
    std::vector<size_t> placed;
    for (size_t index : order)
      if (!findHost(index, hosts)) {
        if (failed(findOffset(index, placed)))
          return failure();
        placed.push_back(index);
      }
    return success();
  }

  /// True if the memory of this result may be that of a parameter (ExportPlan.cpp), which is read until then.
  bool mayBecomeParameter(const Storage &storage) {
    auto result = static_cast<unsigned>(*storage.result);
    for (BlockArgument argument : func.getArguments()) {
      std::optional<LiveRanges> reads = liveness.getArgumentRanges(argument);
      if (isDonatedTo(func, argument.getArgNumber(), result) &&
          (!reads || reads->getEnd() <= storage.ranges.getBegin()))
        return true;
    }
    return false;
  }

  /// Puts a storage into a result that is as large and that nothing else uses at that time.
  bool findHost(size_t index, ArrayRef<size_t> hosts) {
    for (size_t host : hosts) {
      if (storages.get(host).bytes < storages.get(index).bytes || storages.overlap(host, index) ||
          llvm::any_of(guests[host], [&](size_t guest) { return storages.overlap(guest, index); }))
        continue;
      guests[host].push_back(index);
      storages.get(index).result = storages.get(host).result;
      return true;
    }
    return false;
  }

  /// Puts a storage into the arena, which has these.
  LogicalResult findOffset(size_t index, ArrayRef<size_t> placed) {
    Storage &storage = storages.get(index);
    SmallVector<const Storage *> blocked;
    for (size_t other : placed)
      if (storages.get(other).bytes > 0 && storages.overlap(other, index))
        blocked.push_back(&storages.get(other));
    llvm::sort(blocked, [](const Storage *x, const Storage *y) {
      return x->offset != y->offset ? x->offset < y->offset : x < y;
    });
    int64_t offset = 0;
    for (const Storage *other : blocked) {
      if (offset + storage.bytes <= other->offset)
        break;
      offset = std::max(offset, static_cast<int64_t>(llvm::alignTo(other->offset + other->bytes, kAlignment)));
    }
    if (offset > spmd::kMaxArrayBytes - storage.bytes)
      return func.emitError("intermediate arrays would need more than 2^56 bytes on each device");
    storage.offset = offset;
    return success();
  }

  Attribute placeOf(size_t index) {
    const Storage &storage = storages.get(index);
    if (storage.result)
      return plan::BufferAttr::get(func.getContext(), "result", *storage.result);
    return plan::BufferAttr::get(func.getContext(), "arena", storage.offset);
  }
  Attribute placeOf(Value value) { return placeOf(*storages.find(value)); }

  void annotate(Operation *op) {
    SmallVector<Attribute> buffers;
    if (auto constant = dyn_cast<plan::ConstantOp>(op)) {
      buffers.push_back(plan::BufferAttr::get(op->getContext(), "constant", nextConstant));
      nextConstant += static_cast<int64_t>(llvm::alignTo(constant.getResult().getType().getBytes(), kAlignment));
    } else if (auto start = dyn_cast<plan::StartOp>(op)) {
      for (Operation *user : start.getToken().getUsers())
        buffers.push_back(placeOf(user->getResult(0)));
    } else if (auto loop = dyn_cast<plan::ForOp>(op)) {
      buffers.push_back(placeOf(loop.getBody().getArgument(0)));
      for (Value result : op->getResults())
        buffers.push_back(placeOf(result));
    } else if (isa<plan::LaunchOp, plan::MatmulOp, plan::LibraryOp, plan::CopyOp, plan::WhileOp, plan::IfOp>(op)) {
      for (Value result : op->getResults())
        buffers.push_back(placeOf(result));
      if (auto product = products.find(op); product != products.end())
        buffers.push_back(placeOf(product->second));
    } else {
      return;
    }
    op->setAttr("buffers", ArrayAttr::get(op->getContext(), buffers));
  }

  func::FuncOp func;
  Liveness liveness;
  Storages storages;
  std::vector<Copy> copies;
  std::vector<std::tuple<Operation *, unsigned, Value>> pendingOperands;
  llvm::DenseMap<Operation *, size_t> products;
  llvm::DenseMap<size_t, SmallVector<size_t>> guests; ///< The storages in the memory of a result, beside its own.
  int64_t nextConstant = 0;
};

class AssignBuffersPass : public impl::AssignBuffersBase<AssignBuffersPass> {
  void runOnOperation() override {
    for (auto func : getOperation().getOps<func::FuncOp>())
      if (failed(FunctionAssigner(func).run()))
        return signalPassFailure();
  }
};

} // namespace
} // namespace spmdc
