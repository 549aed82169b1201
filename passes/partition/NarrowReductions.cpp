//===- NarrowReductions.cpp - what is used of partial sums is reduced -----===//
//
// Of the output of a network's last layer often a part is used: the last token, the token of a class. What adds the
// residual and a bias to partial sums, and whatever else is element-wise, can as well be done to that part alone.
//
//===----------------------------------------------------------------------===//

#include "passes/collective/ReshardPlanner.h"
#include "passes/partition/FactorAxes.h"
#include "passes/partition/LinearCone.h"
#include "passes/partition/Passes.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/IRMapping.h"

using namespace mlir;

namespace spmdc {

#define GEN_PASS_DEF_NARROWREDUCTIONS
#include "passes/partition/Passes.h.inc"

namespace {

/// Element-wise operations that are made again at most.
constexpr size_t kMostOperations = 32;

ArrayType typeOf(Value value) { return cast<ArrayType>(value.getType()); }

bool isUnreduced(Value value) { return !typeOf(value).getShardingOrOpen().getUnreduced().empty(); }

/// A reshard that reduces partial sums, for one user.
ReshardOp getReduction(Value value) {
  auto reshard = value.getDefiningOp<ReshardOp>();
  return reshard && reshard->hasOneUse() && isUnreduced(reshard.getOperand()) && !isUnreduced(value) ? reshard
                                                                                                     : ReshardOp();
}

/// An operation that takes a part of an array, and the element-wise operations that make the array for it alone.
class TakenPart {
public:
  TakenPart(Operation *take, ReshardPlanner &planner) : take(take), planner(planner) {
    end = take->getResult(0);
    if (auto behind = end.hasOneUse() ? dyn_cast<ReshardOp>(*end.user_begin()) : ReshardOp();
        behind && behind->getBlock() == take->getBlock())
      end = behind.getResult();
  }

  /// Rewrites it where the parts take less time to reduce and to move than all of it.
  void narrow() {
    if (isUnreduced(take->getOperand(0)) || isUnreduced(end) || !collect(take->getOperand(0)) || !hasReduction ||
        typeOf(end).getNumElements() >= typeOf(take->getOperand(0)).getNumElements())
      return;
    if (secondsOfParts() < secondsOfAll())
      rewrite();
  }

private:
  /// Whether the parts of all that the value is made of can be taken instead.
  bool collect(Value value) {
    Operation *op = value.getDefiningOp();
    bool isMadeHere = op && op->getBlock() == take->getBlock() && value.hasOneUse() && !isUnreduced(value) &&
                      isa<ElementwiseOpInterface>(op) && isPure(op);
    if (!isMadeHere)
      return addLeaf(value);
    if (ops.size() >= kMostOperations)
      return false;
    for (Value operand : op->getOperands())
      if (typeOf(operand).getRank() > 0 && !collect(operand))
        return false;
    ops.push_back(op);
    return true;
  }

  bool addLeaf(Value value) {
    ReshardOp reduction = getReduction(value);
    Value origin = reduction ? reduction.getOperand() : LinearCone::getOrigin(value);
    std::optional<ArrayType> part = getPart(typeOf(origin));
    hasReduction |= static_cast<bool>(reduction);
    if (part)
      leaves.insert({value, {origin, *part, reduction}});
    return part.has_value();
  }

  /// How a part of an array lies, if each device takes its own of what it has.
  std::optional<ArrayType> getPart(ArrayType from) const {
    ShardingRule rule = cast<ShardingRuleOpInterface>(take).getShardingRule();
    const spmd::MeshShape &mesh = planner.getMesh();
    spmd::Sharding sharding = from.getShardingOrOpen().toValue();
    FactorAxes axes = projectToFactors(mesh, rule, rule.operands[0], sharding);
    for (auto [factor, list] : llvm::zip(rule.factors, axes))
      if (factor.kind != FactorKind::PassThrough && !list.empty())
        return std::nullopt;
    std::optional<spmd::Sharding> kept = shardingOf(mesh, rule, rule.operands[0], axes),
                                  part = shardingOf(mesh, rule, rule.results[0], axes);
    if (!kept || !part || kept->dims != sharding.dims)
      return std::nullopt;
    part->unreduced = sharding.unreduced;
    ArrayType type = typeOf(take->getResult(0)).withElementType(from.getElementType());
    return type.withSharding(ShardingAttr::fromValue(from.getContext(), *part));
  }

  double secondsOf(ArrayType from, ArrayType to) {
    return planner.getModel().seconds(planner.plan(from, to).cost, planner.getMesh().deviceCount());
  }

  /// Of what is done now; where devices exchange what they take, that counts for nothing.
  double secondsOfAll() {
    double seconds = secondsOf(typeOf(take->getResult(0)), typeOf(end));
    for (auto &[value, leaf] : leaves)
      seconds += secondsOf(typeOf(leaf.origin), typeOf(value));
    return seconds;
  }

  double secondsOfParts() {
    double seconds = 0;
    for (auto &[value, leaf] : leaves)
      seconds += secondsOf(leaf.part, typeAtEnd(value));
    return seconds;
  }

  ArrayType typeAtEnd(Value value) const { return typeOf(end).withElementType(typeOf(value).getElementType()); }

  void rewrite() {
    OpBuilder builder(end.getDefiningOp());
    IRMapping parts;
    for (auto &[value, leaf] : leaves) {
      IRMapping operands;
      operands.map(take->getOperand(0), leaf.origin);
      Operation *part = builder.clone(*take, operands);
      part->getResult(0).setType(leaf.part);
      Value result = part->getResult(0);
      if (leaf.part != typeAtEnd(value)) {
        ReshardOp reduction = leaf.reduction;
        StringRef first = reduction
                              ? StringRef(reduction.getWhy().value_or("")).take_until([](char c) { return c == ';'; })
                              : StringRef();
        std::string why = (first + (first.empty() ? "" : "; ") + "what is used of it is reduced").str();
        Location loc = reduction ? reduction.getLoc() : part->getLoc();
        result = builder.create<ReshardOp>(loc, typeAtEnd(value), result,
                                           reduction ? builder.getStringAttr(why) : StringAttr());
      }
      parts.map(value, result);
    }
    for (Operation *op : ops)
      builder.clone(*op, parts)->getResult(0).setType(typeAtEnd(op->getResult(0)));
    end.replaceAllUsesWith(parts.lookup(take->getOperand(0)));
    if (end.getDefiningOp() != take)
      end.getDefiningOp()->erase();
    take->erase();
    for (Operation *op : llvm::reverse(ops))
      op->erase();
    for (auto &[value, leaf] : leaves)
      LinearCone::eraseUnused(value);
  }

  struct Leaf {
    Value origin;   ///< Before it was reduced, or brought to where it lies.
    ArrayType part; ///< Of that.
    ReshardOp reduction;
  };

  Operation *take;
  ReshardPlanner &planner;
  Value end; ///< The part where it is used.
  SmallVector<Operation *> ops;
  llvm::MapVector<Value, Leaf> leaves;
  bool hasReduction = false;
};

class NarrowReductionsPass : public impl::NarrowReductionsBase<NarrowReductionsPass> {
  void runOnOperation() override {
    auto &planner = getAnalysis<ReshardPlanner>();
    SmallVector<Operation *> takes;
    getOperation().walk([&](Operation *op) {
      if (isa<SliceOp, DynamicSliceOp, TakeOp>(op) && !isPerDevice(op))
        takes.push_back(op);
    });
    for (Operation *take : takes)
      TakenPart(take, planner).narrow();
  }
};

} // namespace
} // namespace spmdc
