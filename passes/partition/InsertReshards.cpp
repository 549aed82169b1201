//===- InsertReshards.cpp - makes the shardings around each operation agree -===//
//
// Each operation runs in the way that is cheapest between the shardings around it (Strategy.h); what differs
// from them is resharded before it, or behind.
//
//===----------------------------------------------------------------------===//

#include "ir/array/PartialSums.h"
#include "passes/exchange/Conditions.h"
#include "passes/partition/Passes.h"
#include "passes/strategy/Strategy.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

using namespace mlir;

namespace spmdc {

#define GEN_PASS_DEF_INSERTRESHARDS
#include "passes/partition/Passes.h.inc"

namespace {

/// In which type partial sums travel, where that is a choice: fewer bytes for a rounding on each device.
void sayPrecision(llvm::raw_ostream &os, ShardingRuleOpInterface op, ArrayType partial, ArrayType result) {
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

/// The reason for bringing the result of an operation to its sharding.
std::string whyResult(ShardingRuleOpInterface op, const Strategy &choice, ArrayType result) {
  std::string text;
  llvm::raw_string_ostream os(text);
  StringRef name = op->getName().stripDialect();
  if (!choice.result.getShardingOrOpen().getUnreduced().empty()) {
    os << name << " sums over a dimension that is cut over " << spmd::quotedNames(choice.reduced)
       << ": each device has a partial sum";
    sayPrecision(os, op, choice.result, result);
    os << "; the result is " << result.str();
  } else {
    os << name << " gives " << choice.result.str() << "; the result is " << result.str();
  }
  return text + whyForCondition(op->getResult(0));
}

/// What only this operation would look at as it is propagated: exchanges begin with what it is made of. A reshape's
/// begins with what it is regrouped from.
void skipReshards(AvailableShardings &forms, ShardingRuleOpInterface op, Value reshapedFrom) {
  for (OpOperand &operand : op->getOpOperands()) {
    // Along the whole way before the operand changes: what is passed is still a use of what it comes from.
    Value source = operand.get();
    for (ReshardOp reshard; source != reshapedFrom && (reshard = getOwnReshard(source));)
      source = reshard.getOperand();
    operand.set(source);
    forms.pay(operand.get());
  }
}

/// Puts reshards around the operation, so that it runs as chosen.
void apply(AvailableShardings &forms, ShardingRuleOpInterface op, const Strategy &choice) {
  if (choice.movesDirectly) // The partitioner builds the exchanges.
    return skipReshards(forms, op, choice.reshapedFrom);
  StringRef name = op->getName().stripDialect();
  for (auto [index, to] : llvm::enumerate(choice.operands)) {
    auto from = cast<ArrayType>(op->getOperand(index).getType());
    if (from.getShardingOrOpen().hasSameAxes(to.getShardingOrOpen())) {
      forms.pay(op->getOperand(index));
      continue;
    }
    std::string why =
        ("operand " + Twine(index) + " of " + name + " lies as " + from.str() + "; the operation runs on " + to.str())
            .str();
    op->setOperand(index, forms.take(op->getOperand(index), to, op, why));
  }
  Value value = op->getResult(0);
  auto result = cast<ArrayType>(value.getType());
  if (result.getShardingOrOpen().hasSameAxes(choice.result.getShardingOrOpen()))
    return;
  std::string why = whyResult(op, choice, result);
  value.setType(choice.result);
  forms.addPropagated(value, result, why);
}

class InsertReshardsPass : public impl::InsertReshardsBase<InsertReshardsPass> {
  void runOnOperation() override {
    auto &planner = getAnalysis<ReshardPlanner>();
    for (auto func : getOperation().getOps<func::FuncOp>()) {
      SmallVector<ShardingRuleOpInterface> ops;
      func.walk([&](ShardingRuleOpInterface op) {
        if (!isa<ReshardOp, ConstraintOp>(op.getOperation()) && !isPerDevice(op))
          ops.push_back(op);
      });
      AvailableShardings forms(planner);
      Windows windows(Windows::listMovers(func.getBody()), getMesh(func));
      for (ShardingRuleOpInterface op : ops)
        apply(forms, op, chooseStrategy(planner, forms, [&](Operation *) { return &windows; }, op, OperationRule(op)));
      func.walk([&](Operation *op) {
        if (auto manual = dyn_cast<ManualOp>(op))
          reconcileManual(forms, manual);
        else if (!isPerDevice(op))
          reconcileControl(forms, op);
      });
      forms.clean();
      removeUnused(func);
    }
  }

  /// Reshards of the program that were passed by: no use of a value any more, which moves are looked through for.
  static void removeUnused(func::FuncOp func) {
    SmallVector<ReshardOp> reshards;
    func.walk([&](ReshardOp reshard) { reshards.push_back(reshard); });
    for (ReshardOp reshard : llvm::reverse(reshards))
      if (reshard->use_empty())
        reshard.erase();
  }

  /// Makes a value lie as its place wants it; `what` is the value, `place` what it becomes.
  static void reconcile(AvailableShardings &forms, OpOperand &use, Type wanted, StringRef what, StringRef place) {
    auto from = cast<ArrayType>(use.get().getType()), to = cast<ArrayType>(wanted);
    if (from.getShardingOrOpen().hasSameAxes(to.getShardingOrOpen()))
      return;
    std::string why = (what + " is " + from.str() + ", " + place + " is " + to.str()).str();
    use.set(forms.take(use.get(), to, use.getOwner(), why));
  }

  /// Along the axes that are not manual, a region is given its pieces as its body takes them, and yields them as the
  /// result wants them.
  static void reconcileManual(AvailableShardings &forms, ManualOp manual) {
    if (!manual.hasAutomaticAxes())
      return;
    for (auto [operand, argument] : llvm::zip(manual->getOpOperands(), manual.getBlock().getArguments())) {
      auto type = cast<ArrayType>(operand.get().getType());
      ArrayType wanted = manual.withPiece(type, cast<ArrayType>(argument.getType()).getSharding());
      reconcile(forms, operand, wanted, "what the region of 'shard_map' is given", "what it takes");
    }
    for (auto [yielded, result] :
         llvm::zip(manual.getBlock().getTerminator()->getOpOperands(), manual->getResultTypes()))
      reconcile(forms, yielded, manual.getPiece(cast<ArrayType>(result)), "what the region of 'shard_map' yields",
                "the piece of the result");
  }

  /// What a carry starts from and what the body yields take the carry's sharding, what arms yield the result's.
  static void reconcileControl(AvailableShardings &forms, Operation *op) {
    if (!isa<ForOp, WhileOp, IfOp>(op))
      return;
    bool isBranch = isa<IfOp>(op);
    for (OpResult result : op->getResults()) {
      unsigned index = result.getResultNumber();
      if (!isBranch)
        reconcile(forms, op->getOpOperand(index), result.getType(), "what the loop starts from", "the carry");
      for (Region &region : op->getRegions()) {
        bool isCondition = !isBranch && &region != &op->getRegions().back();
        if (!isCondition)
          reconcile(forms, region.front().getTerminator()->getOpOperand(index), result.getType(),
                    isBranch ? "what an arm of the branch yields" : "what each iteration of the loop yields",
                    isBranch ? "the result" : "the carry");
      }
    }
  }
};

} // namespace
} // namespace spmdc
