//===- InsertReshards.cpp - makes the shardings around each operation agree -===//
//
// Each operation runs in the way that is cheapest between the shardings around it (OperationChoice.h); what differs
// from them is resharded before it, or behind.
//
//===----------------------------------------------------------------------===//

#include "passes/partition/Conditions.h"
#include "passes/partition/OperationChoice.h"
#include "passes/partition/Passes.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

using namespace mlir;

namespace spmdc {

#define GEN_PASS_DEF_INSERTRESHARDS
#include "passes/partition/Passes.h.inc"

namespace {

/// The reason for bringing the result of an operation to its sharding.
std::string whyResult(ShardingRuleOpInterface op, const OperationChoice &choice, ArrayType result) {
  std::string text;
  llvm::raw_string_ostream os(text);
  StringRef name = op->getName().stripDialect();
  if (!choice.result.getShardingOrOpen().getUnreduced().empty()) {
    os << name << " sums over a dimension that is cut over " << spmd::quotedNames(choice.reduced)
       << ": each device has a partial sum; the result is " << result.str();
  } else {
    os << name << " gives " << choice.result.str() << "; the result is " << result.str();
  }
  return text + whyForCondition(op->getResult(0));
}

/// What only this operation would look at as it is propagated: exchanges begin with what it is made of.
void skipReshards(Forms &forms, ShardingRuleOpInterface op) {
  for (OpOperand &operand : op->getOpOperands()) {
    while (auto reshard = operand.get().getDefiningOp<ReshardOp>()) {
      if (!reshard->hasOneUse() || !reshard.getOperand().getType().getShardingOrOpen().getUnreduced().empty())
        break;
      operand.set(reshard.getOperand());
    }
    forms.pay(operand.get());
  }
}

/// Puts reshards around the operation, so that it runs as chosen.
void apply(Forms &forms, ShardingRuleOpInterface op, const OperationChoice &choice) {
  if (choice.movesDirectly) // The partitioner builds the exchanges.
    return skipReshards(forms, op);
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
    spmd::MeshShape mesh = getMesh(getOperation()).toValue();
    CostModel model = CostModel::of(getOperation());
    ReshardPlanner planner(mesh, model);
    for (auto func : getOperation().getOps<func::FuncOp>()) {
      SmallVector<ShardingRuleOpInterface> ops;
      func.walk([&](ShardingRuleOpInterface op) {
        if (!isa<ReshardOp, ConstraintOp>(op.getOperation()) && !op->getParentOfType<ManualOp>())
          ops.push_back(op);
      });
      Forms forms(planner);
      for (ShardingRuleOpInterface op : ops)
        apply(forms, op, chooseAssignment(mesh, model, planner, forms, op));
      func.walk([&](Operation *op) { reconcileControl(forms, op); });
      forms.clean();
    }
  }

  /// Makes a value lie as its place wants it; `why` ends in what the value is.
  static void reconcile(Forms &forms, OpOperand &use, Type wanted, const Twine &why) {
    auto from = cast<ArrayType>(use.get().getType()), to = cast<ArrayType>(wanted);
    if (from.getShardingOrOpen().hasSameAxes(to.getShardingOrOpen()))
      return;
    StringRef what = isa<IfOp>(use.getOwner()->getParentOp()) ? "result is " : "carry is ";
    use.set(forms.take(use.get(), to, use.getOwner(), (why + " is " + from.str() + ", the " + what + to.str()).str()));
  }

  /// What a carry starts from and what the body yields take the carry's sharding, what arms yield the result's.
  static void reconcileControl(Forms &forms, Operation *op) {
    if (!isa<ForOp, WhileOp, IfOp>(op))
      return;
    bool isBranch = isa<IfOp>(op);
    for (OpResult result : op->getResults()) {
      unsigned index = result.getResultNumber();
      if (!isBranch)
        reconcile(forms, op->getOpOperand(index), result.getType(), "what the loop starts from");
      for (Region &region : op->getRegions()) {
        bool isCondition = !isBranch && &region != &op->getRegions().back();
        if (!isCondition)
          reconcile(forms, region.front().getTerminator()->getOpOperand(index), result.getType(),
                    isBranch ? "what an arm of the branch yields" : "what each iteration of the loop yields");
      }
    }
  }
};

} // namespace
} // namespace spmdc
