//===- AlignCollectives.cpp - all devices call the same collectives -------===//
//
// In the body of a shard_map, a collective may be under a condition that differs between groups of devices, as long as
// the devices of each group agree. The runtime matches calls by their order on a device, so all devices must call all
// collectives. Hence each device runs both branches of such an `array.if` and selects the results of its own branch. An
// `array.while` of this kind runs on all devices until the last one has left it; a device that has left keeps its
// carries. Groups that would not run the code compute with the values that they have, and the results are not used.
//
// In a region that is manual along some axes only, the collectives that the partitioner will insert along the other
// axes count as well: devices at different positions along the manual axes may take different branches around them.
//
// A loop within such a branch must not iterate on a device that does not take the branch, since it might not terminate
// there. So its condition also tests whether the device takes the branch (`Here`).
//
//===----------------------------------------------------------------------===//

#include "ir/array/ArrayOps.h"
#include "ir/spmd/VaryingAxes.h"
#include "passes/collectives/Passes.h"

#include "mlir/IR/IRMapping.h"

using namespace mlir;

namespace spmdc {

#define GEN_PASS_DEF_ALIGNCOLLECTIVES
#include "passes/collectives/Passes.h.inc"

namespace {

/// Whether the original program of a device reaches this point. A null `isHere` means that all devices reach it.
struct Here {
  Value isHere;
  VaryingAxes::Axes axes; ///< The axes over which `isHere` varies.
};

/// Whether a value is sharded along a dimension that satisfies the test.
bool isSharded(Value value, function_ref<bool(const DimFactors &)> test, const ValueFactors &factors) {
  ShardingAttr sharding = cast<ArrayType>(value.getType()).getSharding();
  return sharding && llvm::any_of(llvm::zip(sharding.getDims(), factors),
                                  [&](auto pair) { return !std::get<0>(pair).empty() && test(std::get<1>(pair)); });
}

/// Whether the operation is a collective, or the partitioner may need one for it. Changes of sharding are already
/// `spmd.reshard` operations. Other collectives combine the devices' values along a sharded factor, or move elements.
bool isCollective(Operation *op) {
  if (isa<CollectiveOpInterface, ReshardOp>(op))
    return true;
  auto ruled = dyn_cast<ShardingRuleOpInterface>(op);
  if (!ruled)
    return false;
  ShardingRule rule = ruled.getShardingRule();
  bool isMoving = isa<ReshapeOp>(op) || !ruled.getMoves().parts.empty();
  auto needsOthers = [&](const DimFactors &factors) {
    return isMoving ||
           llvm::any_of(factors, [&](int64_t factor) { return rule.factors[factor].kind != FactorKind::PassThrough; });
  };
  for (auto [operand, factors] : llvm::zip(op->getOperands(), rule.operands))
    if (isSharded(operand, needsOthers, factors))
      return true;
  return isSharded(op->getResult(0), needsOthers, rule.results[0]);
}

bool hasCollective(Operation *op) {
  return op
      ->walk([](Operation *inside) { return isCollective(inside) ? WalkResult::interrupt() : WalkResult::advance(); })
      .wasInterrupted();
}

ArrayType boolType(OpBuilder &builder) { return ArrayType::get({}, builder.getI1Type()); }

Value createAnd(OpBuilder &builder, Location loc, Value lhs, Value rhs) {
  return lhs && rhs ? builder.create<AndOp>(loc, boolType(builder), lhs, rhs) : lhs ? lhs : rhs;
}

Value createSelect(OpBuilder &builder, Location loc, Value condition, Value onTrue, Value onFalse) {
  auto type = cast<ArrayType>(onTrue.getType());
  if (type.getRank() != 0)
    condition = builder.create<BroadcastInDimOp>(loc, type.withElementType(builder.getI1Type()), condition,
                                                 ArrayRef<int64_t>());
  return builder.create<SelectOp>(loc, type, condition, onTrue, onFalse);
}

class Aligner {
public:
  explicit Aligner(ManualOp manual) : varying(manual), context(manual.getContext()) { align(manual.getBlock(), {}); }

private:
  void align(Block &block, const Here &here) {
    for (Operation &op : llvm::make_early_inc_range(block)) {
      if (auto branch = dyn_cast<IfOp>(op))
        align(branch, here);
      else if (auto loop = dyn_cast<WhileOp>(op))
        align(loop, here);
      else if (auto manual = dyn_cast<ManualOp>(op))
        align(manual.getBlock(), handIn(here, manual));
      else
        for (Region &region : op.getRegions())
          align(region.front(), here);
    }
  }

  /// Passes `here` into a nested manual region, which reads no outer values except its operands.
  static Here handIn(const Here &here, ManualOp manual) {
    if (!here.isHere)
      return here;
    manual.getInputsMutable().append(here.isHere);
    return {manual.getBlock().addArgument(here.isHere.getType(), manual.getLoc()), here.axes};
  }

  void align(IfOp branch, const Here &here) {
    VaryingAxes::Axes axes = varying.of(branch.getPredicate());
    if (axes.empty() || !hasCollective(branch)) {
      align(branch.getThenRegion().front(), here);
      align(branch.getElseRegion().front(), here);
      return;
    }
    OpBuilder builder(branch);
    Location loc = branch.getLoc();
    Value isNot = builder.create<NotOp>(loc, boolType(builder), branch.getPredicate());
    SmallVector<SmallVector<Value>> yielded;
    Value conditions[] = {branch.getPredicate(), isNot};
    for (auto [region, condition] : llvm::zip(branch->getRegions(), conditions)) {
      Here inBranch{createAnd(builder, loc, here.isHere, condition), here.axes};
      inBranch.axes.insert(axes.begin(), axes.end());
      Block &block = region.front();
      align(block, inBranch);
      yielded.emplace_back(block.getTerminator()->getOperands());
      block.getTerminator()->erase();
      branch->getBlock()->getOperations().splice(branch->getIterator(), block.getOperations());
    }
    builder.setInsertionPoint(branch);
    for (auto [result, onTrue, onFalse] : llvm::zip(branch.getOutputs(), yielded[0], yielded[1]))
      result.replaceAllUsesWith(createSelect(builder, loc, branch.getPredicate(), onTrue, onFalse));
    branch.erase();
  }

  void align(WhileOp loop, const Here &here) {
    Block &condition = loop.getCondition().front(), &body = loop.getBody().front();
    VaryingAxes::Axes axes = varying.of(condition.getTerminator()->getOperand(0));
    axes.insert(here.axes.begin(), here.axes.end());
    if (!hasCollective(loop)) {
      // Devices need not agree on the iterations; a device that does not reach the loop runs none.
      OpBuilder builder(condition.getTerminator());
      Value goesOn = condition.getTerminator()->getOperand(0);
      condition.getTerminator()->setOperand(0, createAnd(builder, loop.getLoc(), here.isHere, goesOn));
      return;
    }
    if (axes.empty()) {
      align(condition, here);
      align(body, here);
      return;
    }
    align(condition, here);
    OpBuilder builder(loop);
    Location loc = loop.getLoc();
    // A further carry says whether the device is still in the loop.
    Value isInside = createAnd(builder, loc, here.isHere, evaluate(condition, builder, loop.getInitials()));
    SmallVector<Value> initials(loop.getInitials());
    initials.push_back(isInside);
    SmallVector<Type> types(loop.getResultTypes());
    types.push_back(boolType(builder));
    auto aligned = builder.create<WhileOp>(loc, types, initials);

    OpBuilder::InsertionGuard guard(builder);
    Block *newCondition = builder.createBlock(&aligned.getCondition());
    addArguments(*newCondition, loop, boolType(builder));
    Value anyInside = builder.create<AllReduceOp>(
        loc, boolType(builder), newCondition->getArguments().back(), ReductionKind::or_, axesAttr(axes),
        builder.getStringAttr("the loop iterates while any device is in it: all devices call its collectives"));
    builder.create<YieldOp>(loc, anyInside);

    Block *newBody = builder.createBlock(&aligned.getBody());
    addArguments(*newBody, loop, boolType(builder));
    Value inside = newBody->getArguments().back();
    auto carries = newBody->getArguments().drop_back();
    for (auto [old, carry] : llvm::zip(body.getArguments(), carries)) {
      varying.copy(carry, old);
      old.replaceAllUsesWith(carry);
    }
    align(body, {inside, axes});
    SmallVector<Value> next(body.getTerminator()->getOperands());
    body.getTerminator()->erase();
    newBody->getOperations().splice(newBody->end(), body.getOperations());
    builder.setInsertionPointToEnd(newBody);
    for (auto [value, carry] : llvm::zip(next, carries))
      value = createSelect(builder, loc, inside, value, carry);
    next.push_back(createAnd(builder, loc, inside, evaluate(condition, builder, next)));
    builder.create<YieldOp>(loc, next);

    loop.replaceAllUsesWith(aligned.getResults().drop_back());
    loop.erase();
  }

  /// Emits the condition for these carries, and returns its value.
  Value evaluate(Block &condition, OpBuilder &builder, ValueRange carries) {
    IRMapping mapping;
    for (auto [argument, carry] : llvm::zip(condition.getArguments(), carries))
      mapping.map(argument, carry);
    for (Operation &op : condition.without_terminator())
      builder.clone(op, mapping);
    return mapping.lookupOrDefault(condition.getTerminator()->getOperand(0));
  }

  static void addArguments(Block &block, WhileOp loop, Type last) {
    for (Value argument : loop.getCondition().getArguments())
      block.addArgument(argument.getType(), argument.getLoc());
    block.addArgument(last, loop.getLoc());
  }

  AxesAttr axesAttr(const VaryingAxes::Axes &axes) const {
    SmallVector<AxisRefAttr> refs;
    for (const std::string &axis : axes)
      refs.push_back(AxisRefAttr::get(context, StringAttr::get(context, axis), 1, 0));
    return AxesAttr::get(context, refs);
  }

  VaryingAxes varying;
  MLIRContext *context;
};

class AlignCollectivesPass : public impl::AlignCollectivesBase<AlignCollectivesPass> {
  void runOnOperation() override {
    // An aligner handles the nested manual regions too.
    getOperation().walk<WalkOrder::PreOrder>([](ManualOp manual) {
      Aligner{manual};
      return WalkResult::skip();
    });
  }
};

} // namespace
} // namespace spmdc
