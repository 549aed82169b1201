//===- InsertReshards.cpp - makes neighbouring shardings agree ------------===//
//
// The pass chooses for each operation the strategy that is cheapest with the shardings around it (Strategy.h). It
// reshards operands in front of the operation and the result behind it, where the strategy's shardings differ.
//
//===----------------------------------------------------------------------===//

#include "ir/array/PartialSums.h"
#include "ir/spmd/DebugTrace.h"
#include "passes/exchange/Reasons.h"
#include "passes/partition/Passes.h"
#include "passes/strategy/StrategyMemo.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;

namespace spmdc {

#define GEN_PASS_DEF_INSERTRESHARDS
#include "passes/partition/Passes.h.inc"

namespace {

DebugTrace trace("strategy");

/// Traces the chosen strategy, with its reshards in the price.
void traceChosen(Operation *op, const Strategy &strategy) {
  auto operands = [&] {
    return llvm::join(llvm::map_range(strategy.operands, [](ArrayType type) { return type.str(); }), ", ");
  };
  trace.note(op, "runs on ", operands, " and gives ", strategy.result, ": ", asTime(strategy.price.seconds), ", ",
             asCount(strategy.price.linkBytes), " bytes");
}

/// Appends the type in which partial sums are sent, if the user can choose it: fewer bytes for a rounding on each
/// device.
void appendPrecision(llvm::raw_ostream &os, ShardingRuleOpInterface op, ArrayType partial, ArrayType result) {
  if (!combinesElements(op) || !isHalfFloat(result.getElementType()))
    return;
  StringRef name = spmd::dtypeName(result.getDType());
  if (partial.getElementType() != result.getElementType())
    os << " in f32, rounded to " << name << " once they are added (--reduce-precision=" << name
       << " sends half of it, rounded on each device)";
  else
    os << ", rounded to " << name << " before they are added (--reduce-precision=f32 sends twice as much, and rounds "
       << "once)";
}

/// The reason for resharding the result of an operation.
std::string whyResult(ShardingRuleOpInterface op, const Strategy &strategy, ArrayType result) {
  std::string text;
  llvm::raw_string_ostream os(text);
  StringRef name = op->getName().stripDialect();
  if (!strategy.result.getShardingOrOpen().getUnreduced().empty()) {
    os << name << " sums over a dimension sharded over " << spmd::quotedNames(strategy.reduced)
       << ": each device has a partial sum";
    appendPrecision(os, op, strategy.result, result);
    os << "; the result is " << result.str();
  } else {
    os << name << " gives " << strategy.result.str() << "; the result is " << result.str();
  }
  return text + whyForCondition(op->getResult(0));
}

/// Skips the reshards in front of an operation that only it uses: its exchanges start from their operands. The exchange
/// of a reshape starts from `reshapedFrom`.
void skipReshards(AvailableShardings &available, ShardingRuleOpInterface op, Value reshapedFrom) {
  for (OpOperand &operand : op->getOpOperands()) {
    // Find the source first and change the operand once, because each skipped reshard is still a use of its operand.
    Value source = operand.get();
    for (ReshardOp reshard; source != reshapedFrom && (reshard = getOwnReshard(source));)
      source = reshard.getOperand();
    operand.set(source);
    available.pay(operand.get());
  }
}

/// Inserts reshards around the operation, so that it can run with the chosen strategy.
void apply(AvailableShardings &available, ShardingRuleOpInterface op, const Strategy &strategy) {
  if (strategy.movesDirectly) // The partitioner builds the exchanges.
    return skipReshards(available, op, strategy.reshapedFrom);
  StringRef name = op->getName().stripDialect();
  for (auto [index, to] : llvm::enumerate(strategy.operands)) {
    auto from = cast<ArrayType>(op->getOperand(index).getType());
    if (from.getShardingOrOpen().hasSameAxes(to.getShardingOrOpen())) {
      available.pay(op->getOperand(index));
      continue;
    }
    std::string why =
        ("operand " + Twine(index) + " of " + name + " is " + from.str() + "; the operation runs on " + to.str()).str();
    op->setOperand(index, available.take(op->getOperand(index), to, op, why));
  }
  Value value = op->getResult(0);
  auto result = cast<ArrayType>(value.getType());
  if (result.getShardingOrOpen().hasSameAxes(strategy.result.getShardingOrOpen()))
    return;
  std::string why = whyResult(op, strategy, result);
  value.setType(strategy.result);
  available.addPropagated(value, result, why);
}

class InsertReshardsPass : public impl::InsertReshardsBase<InsertReshardsPass> {
public:
  InsertReshardsPass() = default;
  explicit InsertReshardsPass(StrategyMemo *memo) : shared(memo) {}

private:
  void runOnOperation() override {
    auto &planner = getAnalysis<ReshardPlanner>();
    StrategyMemo own, &memo = shared ? *shared : own;
    for (auto func : getOperation().getOps<func::FuncOp>()) {
      SmallVector<ShardingRuleOpInterface> ops;
      func.walk([&](ShardingRuleOpInterface op) {
        if (!isa<ReshardOp, ConstraintOp>(op.getOperation()) && !isPerDevice(op))
          ops.push_back(op);
      });
      AvailableShardings available(planner);
      OperationTable table(memo.getNumbers());
      Windows windows(Windows::listMovers(func.getBody()), getMesh(func));
      for (ShardingRuleOpInterface op : ops) {
        Strategy strategy = memo.choose(planner, available, windows, op, table.compute(op));
        traceChosen(op, strategy);
        apply(available, op, strategy);
      }
      func.walk([&](Operation *op) {
        if (auto manual = dyn_cast<ManualOp>(op))
          reconcileManual(available, manual);
        else if (!isPerDevice(op))
          reconcileControl(available, op);
      });
      available.clean();
      removeUnused(func);
    }
  }

  /// Erases skipped reshards of the program, so that later passes do not see them as uses.
  static void removeUnused(func::FuncOp func) {
    SmallVector<ReshardOp> reshards;
    func.walk([&](ReshardOp reshard) { reshards.push_back(reshard); });
    for (ReshardOp reshard : llvm::reverse(reshards))
      if (reshard->use_empty())
        reshard.erase();
  }

  /// Reshards a used value to the type that its use needs. `what` and `place` name the value and the use in the reason.
  static void reconcile(AvailableShardings &available, OpOperand &use, Type wanted, StringRef what, StringRef place) {
    auto from = cast<ArrayType>(use.get().getType()), to = cast<ArrayType>(wanted);
    if (from.getShardingOrOpen().hasSameAxes(to.getShardingOrOpen()))
      return;
    std::string why = (what + " is " + from.str() + ", " + place + " is " + to.str()).str();
    use.set(available.take(use.get(), to, use.getOwner(), why));
  }

  /// Along the axes that are not manual, reshards the operands of a region to its arguments' shardings, and the yielded
  /// values to the results'.
  static void reconcileManual(AvailableShardings &available, ManualOp manual) {
    if (!manual.hasAutomaticAxes())
      return;
    for (auto [operand, argument] : llvm::zip(manual->getOpOperands(), manual.getBlock().getArguments())) {
      auto type = cast<ArrayType>(operand.get().getType());
      ArrayType wanted = manual.withLocalSharding(type, cast<ArrayType>(argument.getType()).getSharding());
      reconcile(available, operand, wanted, "the operand of 'shard_map'", "the parameter of its body");
    }
    for (auto [yielded, result] :
         llvm::zip(manual.getBlock().getTerminator()->getOpOperands(), manual->getResultTypes()))
      reconcile(available, yielded, manual.getLocalType(cast<ArrayType>(result)),
                "the value that the body of 'shard_map' yields", "the local result");
  }

  /// Reshards the initial values of a loop and the values that its body yields to the carries' shardings, and the
  /// values that branches yield to the results'.
  static void reconcileControl(AvailableShardings &available, Operation *op) {
    if (!isa<ForOp, WhileOp, IfOp>(op))
      return;
    bool isBranch = isa<IfOp>(op);
    for (OpResult result : op->getResults()) {
      unsigned index = result.getResultNumber();
      if (!isBranch)
        reconcile(available, op->getOpOperand(index), result.getType(), "the initial value of the loop", "the carry");
      for (Region &region : op->getRegions()) {
        bool isCondition = !isBranch && &region != &op->getRegions().back();
        if (!isCondition)
          reconcile(available, region.front().getTerminator()->getOpOperand(index), result.getType(),
                    isBranch ? "the value that a branch yields" : "the value that the loop body yields",
                    isBranch ? "the result" : "the carry");
      }
    }
  }

  StrategyMemo *shared = nullptr; ///< If null, each run has its own.
};

} // namespace

std::unique_ptr<Pass> createInsertReshards(StrategyMemo *memo) { return std::make_unique<InsertReshardsPass>(memo); }

} // namespace spmdc
