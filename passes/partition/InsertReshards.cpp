//===- InsertReshards.cpp - makes the shardings around each operation agree -===//
//
// For each operation, candidates are assignments of axes to its factors: first those that the operands and the result
// have on each factor (or nothing), then, if these need communication, every other one (Assignments.h). Each is priced:
// resharding the operands, repeated computation, and bringing the result (partial sums included) to its propagated
// sharding. The cheapest wins; ties go to the candidate that was listed first, which is the one closest to the result.
//
//===----------------------------------------------------------------------===//

#include "ir/array/ArrayOps.h"
#include "passes/collective/ReshardPlanner.h"
#include "passes/partition/Assignments.h"
#include "passes/partition/Conditions.h"
#include "passes/partition/FactorAxes.h"
#include "passes/partition/Moves.h"
#include "passes/partition/Passes.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

#include <algorithm>
#include <limits>

using namespace mlir;

namespace spmdc {

#define GEN_PASS_DEF_INSERTRESHARDS
#include "passes/partition/Passes.h.inc"

namespace {

/// One assignment with the shardings that follow from it.
struct Candidate {
  FactorAxes axes;
  SmallVector<ArrayType> operands;
  ArrayType result; ///< With unreduced axes where the operation leaves partial sums.
  AxisList reduced; ///< Axes of reduction factors.
};

/// Whether every device can make any part of a value by itself: a splat or an iota.
bool canMakeAnew(Value value) {
  auto op = value.getDefiningOp<ShardingRuleOpInterface>();
  return op && op->getNumOperands() == 0 && llvm::all_of(op.getShardingRule().factors, [](const Factor &factor) {
           return factor.kind == FactorKind::PassThrough;
         });
}

class OperationReconciler {
public:
  OperationReconciler(const spmd::MeshShape &mesh, const CostModel &model, ReshardPlanner &planner,
                      ShardingRuleOpInterface op)
      : mesh(mesh), model(model), planner(planner), op(op), rule(op.getShardingRule()),
        result(cast<ArrayType>(op->getResult(0).getType())) {}

  void run() {
    std::vector<spmd::Sharding> operands;
    for (size_t i = 0; i < rule.operands.size(); ++i)
      operands.push_back(operandType(i).getShardingOrOpen().toValue());
    spmd::Sharding wanted = result.getShardingOrOpen().toValue();
    compare(listSuggestedAssignments(mesh, rule, operands, wanted));
    if (bestPrice.wireBytes > 0)
      compare(listAllAssignments(mesh, rule, operands, wanted));
    if (!movesDirectly())
      apply(*best);
  }

private:
  struct Price {
    double seconds = 0, wireBytes = 0;
  };

  ArrayType operandType(size_t index) const { return cast<ArrayType>(op->getOperand(index).getType()); }

  void compare(const std::vector<FactorAxes> &assignments) {
    for (const FactorAxes &axes : assignments) {
      std::optional<Candidate> candidate = tryAssign(axes);
      if (!candidate)
        continue;
      Price price = getPrice(*candidate);
      if (best && !(price.seconds < bestPrice.seconds))
        continue;
      bestPrice = price;
      best = std::move(candidate);
    }
  }

  /// Whether exchanges from the operands as they lie to the result as it is wanted are cheaper: then all stays as it
  /// is, and the partitioner builds them.
  bool movesDirectly() {
    SmallVector<Operation *> skipped;
    ArrayMoves moves = getNearestMoves(op, &skipped);
    if (moves.parts.empty() || !result.getShardingOrOpen().getUnreduced().empty())
      return false;
    MeshAttr meshAttr = MeshAttr::fromValue(op->getContext(), "", mesh);
    auto local = static_cast<double>(result.getLocal(meshAttr).getBytes());
    CollectiveCost cost;
    for (const ArrayMove &part : moves.parts) {
      auto from = cast<ArrayType>(part.source.getType());
      if (!from.getShardingOrOpen().getUnreduced().empty())
        return false;
      cost = cost + getExchangeCost(from, result, part.dims);
    }
    // Each part is written, and, where there are several, the result is chosen from them.
    bool isChosen = moves.parts.size() > 1 || moves.outside;
    double touched = local * static_cast<double>(moves.parts.size() + isChosen);
    double seconds = model.seconds(cost, mesh.deviceCount()) + touched / model.memoryPerSecond;
    CollectiveCost saved;
    for (Operation *other : skipped)
      saved = saved + getMoveCost(other);
    return seconds < bestPrice.seconds + model.seconds(saved, mesh.deviceCount());
  }

  CollectiveCost getExchangeCost(ArrayType from, ArrayType to, const std::vector<spmd::DimMove> &dims) {
    double bytes = getExchangeBytes(mesh, from, to, dims);
    int64_t steps = bytes > 0 ? 1 : 0;
    MeshAttr meshAttr = MeshAttr::fromValue(op->getContext(), "", mesh);
    return {bytes, steps, steps, static_cast<double>(to.getLocal(meshAttr).getBytes())};
  }

  /// What an operation before this one sends, which moves its operand or changes its sharding.
  CollectiveCost getMoveCost(Operation *other) {
    auto to = cast<ArrayType>(other->getResult(0).getType());
    if (auto reshard = dyn_cast<ReshardOp>(other))
      return planner.plan(reshard.getOperand().getType(), to).cost;
    auto from = cast<ArrayType>(other->getOperand(0).getType());
    auto moving = cast<ShardingRuleOpInterface>(other);
    if (!needsExchange(moving, moving.getShardingRule(), {from}, to))
      return {};
    return getExchangeCost(from, to, moving.getMoves().parts[0].dims);
  }

  std::optional<Candidate> tryAssign(const FactorAxes &axes) {
    Candidate candidate;
    candidate.axes = axes;
    MLIRContext *context = op->getContext();
    for (size_t i = 0; i < rule.operands.size(); ++i) {
      std::optional<spmd::Sharding> sharding = shardingOf(mesh, rule, rule.operands[i], axes);
      if (!sharding)
        return std::nullopt;
      candidate.operands.push_back(operandType(i).withSharding(ShardingAttr::fromValue(context, *sharding)));
    }
    std::optional<spmd::Sharding> sharding = shardingOf(mesh, rule, rule.results[0], axes);
    if (!sharding)
      return std::nullopt;
    for (size_t f = 0; f < axes.size(); ++f)
      if (rule.factors[f].kind == FactorKind::Reduction)
        candidate.reduced.insert(candidate.reduced.end(), axes[f].begin(), axes[f].end());
    if (op.getReductionKind() == ReductionKind::sum)
      sharding->unreduced = candidate.reduced;
    candidate.result = result.withSharding(ShardingAttr::fromValue(context, *sharding));
    return candidate;
  }

  Price getPrice(const Candidate &candidate) {
    CollectiveCost cost;
    for (size_t i = 0; i < candidate.operands.size(); ++i)
      if (!canMakeAnew(op->getOperand(i)))
        cost = cost + planner.plan(operandType(i), candidate.operands[i]).cost;
    const ReshardPlan &toResult = planner.plan(candidate.result, result);
    if (!toResult.isPossible) // Partition says so, with the place.
      return {std::numeric_limits<double>::max(), 0};
    cost = cost + toResult.cost;
    MeshAttr meshAttr = MeshAttr::fromValue(op->getContext(), "", mesh);
    int64_t devices = mesh.deviceCount();
    if (op.getReductionKind() != ReductionKind::sum && !candidate.reduced.empty()) {
      auto group = static_cast<double>(sizeOf(mesh, candidate.reduced));
      auto bytes = static_cast<double>(candidate.result.getLocal(meshAttr).getBytes());
      cost = cost + CollectiveCost{2 * (group - 1) * (static_cast<double>(devices) / group) * bytes, 0, 1, bytes};
    }
    double combined = 0;
    for (size_t f = 0; f < rule.factors.size(); ++f)
      if (rule.factors[f].kind == FactorKind::Combined && !candidate.axes[f].empty())
        combined += op.getCombiningBytes(sizeOf(mesh, candidate.axes[f]), candidate.result.getLocal(meshAttr));
    if (combined > 0)
      cost = cost + CollectiveCost{combined * static_cast<double>(devices), 0, 1, combined};
    return {model.seconds(cost, devices) + computeSeconds(candidate, meshAttr), cost.wireBytes};
  }

  /// Time of the local operation: a contraction by its multiplications, anything else by the memory it touches.
  double computeSeconds(const Candidate &candidate, MeshAttr meshAttr) {
    if (isa<DotGeneralOp>(op.getOperation())) {
      double work = 2;
      for (size_t f = 0; f < rule.factors.size(); ++f) {
        int64_t size = rule.factors[f].size;
        for (const spmd::AxisRef &axis : candidate.axes[f])
          size = spmd::localDimSize(size, {axis.sizeIn(mesh)});
        work *= static_cast<double>(size);
      }
      return work / model.flopsPerSecond;
    }
    auto bytes = static_cast<double>(candidate.result.getLocal(meshAttr).getBytes());
    for (ArrayType operand : candidate.operands)
      bytes += static_cast<double>(operand.getLocal(meshAttr).getBytes());
    return bytes / model.memoryPerSecond;
  }

  void apply(const Candidate &candidate) {
    OpBuilder builder(op);
    StringRef name = op->getName().stripDialect();
    for (size_t i = 0; i < candidate.operands.size(); ++i) {
      ArrayType from = operandType(i), to = candidate.operands[i];
      if (from.getShardingOrOpen().hasSameAxes(to.getShardingOrOpen()))
        continue;
      std::string why =
          ("operand " + Twine(i) + " of " + name + " lies as " + from.str() + "; the operation runs on " + to.str())
              .str();
      op->setOperand(i, builder.create<ReshardOp>(op->getLoc(), to, op->getOperand(i), builder.getStringAttr(why)));
    }
    Value value = op->getResult(0);
    if (result.getShardingOrOpen().hasSameAxes(candidate.result.getShardingOrOpen()))
      return;
    value.setType(candidate.result);
    builder.setInsertionPointAfter(op);
    auto reshard = builder.create<ReshardOp>(op->getLoc(), result, value, builder.getStringAttr(whyResult(candidate)));
    value.replaceAllUsesExcept(reshard, reshard);
  }

  std::string whyResult(const Candidate &candidate) {
    std::string text;
    llvm::raw_string_ostream os(text);
    StringRef name = op->getName().stripDialect();
    if (!candidate.result.getShardingOrOpen().getUnreduced().empty()) {
      os << name << " sums over a dimension that is cut over " << spmd::quotedNames(candidate.reduced)
         << ": each device has a partial sum; the result is " << result.str();
    } else {
      os << name << " gives " << candidate.result.str() << "; the result is " << result.str();
    }
    return text + whyForCondition(op->getResult(0));
  }

  const spmd::MeshShape &mesh;
  const CostModel &model;
  ReshardPlanner &planner;
  ShardingRuleOpInterface op;
  ShardingRule rule;
  ArrayType result;
  std::optional<Candidate> best;
  Price bestPrice;
};

class InsertReshardsPass : public impl::InsertReshardsBase<InsertReshardsPass> {
  void runOnOperation() override {
    spmd::MeshShape mesh = getMesh(getOperation()).toValue();
    CostModel model = CostModel::of(getOperation());
    ReshardPlanner planner(mesh);
    for (auto func : getOperation().getOps<func::FuncOp>()) {
      SmallVector<ShardingRuleOpInterface> ops;
      func.walk([&](ShardingRuleOpInterface op) {
        if (!isa<ReshardOp, ConstraintOp>(op.getOperation()) && !op->getParentOfType<ManualOp>())
          ops.push_back(op);
      });
      for (ShardingRuleOpInterface op : ops)
        OperationReconciler(mesh, model, planner, op).run();
      func.walk([&](Operation *op) { reconcileControl(op); });
      reconcileReturn(func);
    }
  }

  /// Makes a value lie as its place wants it; `why` ends in what the value is.
  static void reconcile(OpOperand &use, Type wanted, const Twine &why) {
    auto from = cast<ArrayType>(use.get().getType()), to = cast<ArrayType>(wanted);
    if (from.getShardingOrOpen().hasSameAxes(to.getShardingOrOpen()))
      return;
    OpBuilder builder(use.getOwner());
    auto text =
        builder.getStringAttr(why + " is " + from.str() + ", the " +
                              (isa<IfOp>(use.getOwner()->getParentOp()) ? "result is " : "carry is ") + to.str());
    use.set(builder.create<ReshardOp>(use.get().getLoc(), to, use.get(), text));
  }

  /// What a carry starts from and what the body yields take the carry's sharding, what arms yield the result's.
  static void reconcileControl(Operation *op) {
    if (!isa<ForOp, WhileOp, IfOp>(op))
      return;
    bool isBranch = isa<IfOp>(op);
    for (OpResult result : op->getResults()) {
      unsigned index = result.getResultNumber();
      if (!isBranch)
        reconcile(op->getOpOperand(index), result.getType(), "what the loop starts from");
      for (Region &region : op->getRegions()) {
        bool isCondition = !isBranch && &region != &op->getRegions().back();
        if (!isCondition)
          reconcile(region.front().getTerminator()->getOpOperand(index), result.getType(),
                    isBranch ? "what an arm of the branch yields" : "what each iteration of the loop yields");
      }
    }
  }

  /// A returned value takes the sharding of the result.
  void reconcileReturn(func::FuncOp func) {
    func.walk([&](func::ReturnOp op) {
      OpBuilder builder(op);
      for (auto [index, expected] : llvm::enumerate(func.getResultTypes())) {
        auto from = dyn_cast<ArrayType>(op.getOperand(index).getType());
        auto to = dyn_cast<ArrayType>(expected);
        if (!from || !to || from.getShardingOrOpen().hasSameAxes(to.getShardingOrOpen()))
          continue;
        std::string why = ("result " + Twine(index) + " is " + to.str() + "; the value lies as " + from.str()).str();
        Value value = op.getOperand(index);
        op.setOperand(index, builder.create<ReshardOp>(value.getLoc(), to, value, builder.getStringAttr(why)));
      }
    });
  }
};

} // namespace
} // namespace spmdc
