//===- ChooseShardings.cpp - values lie where less has to be sent ---------===//

#include "ir/array/ArrayOps.h"
#include "passes/partition/Assignments.h"
#include "passes/partition/Passes.h"
#include "passes/partition/ShardingGraph.h"

#include <map>
#include <set>

using namespace mlir;

namespace spmdc {

#define GEN_PASS_DEF_CHOOSESHARDINGS
#include "passes/partition/Passes.h.inc"

namespace {

/// Changes around one operation that are carried further, of those that are best for itself; and how far.
constexpr size_t kMaxStarts = 12, kMaxLeaps = 40;
constexpr unsigned kRadii[] = {0, 1, 2, 5, 16};
/// The same of changes that are carried through whole layers, and what of the effort may go there first.
constexpr size_t kMaxFarStarts = 4;
constexpr unsigned kFarRadius = 64;
constexpr double kFarShare = 1.0 / 3;
/// Of the time of all, what a change has to save that may send more.
constexpr double kWorthMoreBytes = 0.25;

class Search {
public:
  Search(func::FuncOp func, ReshardPlanner &planner, double effort)
      : graph(func, planner), mesh(planner.getMesh()), effort(effort) {}

  /// One search after another from what propagation gave; the best one is kept. Around single operations; through
  /// whole layers first, which improvements around single operations would keep where they are; and so that devices may
  /// hold more of a value than propagation gave them, where that is faster by more than the model can be wrong and
  /// sends no more.
  void run() {
    for (Operation *op : graph.getOps())
      cutWhatIsPicked(op);
    const ShardingChange propagated = graph.getState();
    search(/*goesFar=*/false);
    OperationPrice least = graph.priceAll();
    ShardingChange best = graph.getState();
    for (bool mayHoldMore : {false, true}) {
      if (least.linkBytes == 0)
        break;
      graph.apply(propagated);
      graph.setMostHeld(mayHoldMore ? graph.getLargestPiece() : 0);
      search(/*goesFar=*/true);
      graph.setMostHeld(0);
      OperationPrice price = graph.priceAll();
      bool isWorthMore = price.seconds < (1 - CostModel::kAlike) * least.seconds && price.linkBytes <= least.linkBytes;
      if (mayHoldMore ? isWorthMore : price.isBetterThan(least)) {
        least = price;
        best = graph.getState();
      }
    }
    graph.apply(best);
  }

  /// A remark for each operation that sends, or sent, and whose result lies otherwise than before.
  void runWithRemarks() {
    std::vector<std::pair<Value, ArrayType>> propagated;
    for (Operation *op : graph.getOps())
      for (Value result : op->getResults())
        propagated.emplace_back(result, cast<ArrayType>(result.getType()));
    llvm::SetVector<Operation *> sending;
    auto note = [&](ArrayRef<Operation *> ops) { sending.insert(ops.begin(), ops.end()); };
    note(listSending());
    run();
    note(listSending());
    for (auto &[value, type] : propagated)
      if (value.getType() != type && sending.contains(value.getDefiningOp()))
        emitRemark(value.getLoc()) << "lies as " << cast<ArrayType>(value.getType()).str() << ", not as " << type.str()
                                   << ", so that less is sent";
  }

private:
  /// Until no change helps any more: one may make way for another. Where few operations send anything, changes are
  /// tried too that help only together with others.
  void search(bool goesFar) {
    double begin = graph.getWork(), farLimit = begin + kFarShare * effort;
    limit = begin + effort;
    bool hasChanged = goesFar;
    while (hasChanged && graph.getWork() < farLimit)
      hasChanged = llvm::any_of(listSending(), [&](Operation *op) { return improveFar(op, farLimit); });
    hasChanged = true;
    while (hasChanged && !isSpent()) {
      auto sending = listSending();
      hasChanged = llvm::any_of(sending, [&](Operation *op) { return improve(op).has_value(); }) ||
                   (goesFar && llvm::any_of(sending, [&](Operation *op) { return improveFar(op, limit); })) ||
                   llvm::any_of(sending, [&](Operation *op) { return leap(op); });
    }
  }

  /// Where each iteration of a loop picks a part of an array along a cut dimension, one device has that part, and the
  /// others compute the same as it does. If all is faster by far with another dimension cut, that is.
  void cutWhatIsPicked(Operation *op) {
    if (!isa<TakeOp, DynamicSliceOp>(op) || !isa<ForOp, WhileOp>(op->getParentOp()))
      return;
    const ShardingRule &rule = *graph.getRule(op);
    auto isPicked = [&](size_t dim) {
      return llvm::any_of(rule.operands[0][dim],
                          [&](unsigned factor) { return rule.factors[factor].kind == FactorKind::Reduction; });
    };
    spmd::Sharding sharding = shardingOf(op->getOperand(0));
    AxisList axes;
    for (auto [dim, list] : llvm::enumerate(sharding.dims))
      if (isPicked(dim))
        llvm::append_range(axes, std::exchange(list, {}));
    if (axes.empty())
      return;
    auto type = cast<ArrayType>(op->getOperand(0).getType());
    double worth = kWorthMoreBytes * graph.priceAll().seconds;
    for (size_t dim = 0; dim < sharding.dims.size(); ++dim) {
      spmd::Sharding moved = sharding;
      llvm::append_range(moved.dims[dim], axes);
      if (isPicked(dim) || sizeOf(mesh, moved.dims[dim]) > type.getDimSize(dim))
        continue;
      FactorAxes cut = projectToFactors(mesh, rule, rule.operands[0], moved);
      ShardingChange change;
      if (!add(change, op->getOperand(0), moved) ||
          !add(change, op->getResult(0), spmdc::shardingOf(mesh, rule, rule.results[0], cut)))
        continue;
      graph.follow(change, kFarRadius, /*isFar=*/true);
      if (getGain(change).seconds > worth)
        return make(change, nullptr);
    }
  }

  /// What sends most comes first.
  SmallVector<Operation *> listSending() {
    std::multimap<double, Operation *, std::greater<>> sending;
    for (Operation *op : graph.getOps())
      if (double bytes = graph.price(op).linkBytes; bytes > 0)
        sending.emplace(bytes, op);
    return llvm::to_vector(llvm::make_second_range(sending));
  }

  /// Not by the rounding of sums alone.
  static bool helps(const OperationPrice &gain) { return gain.linkBytes >= 1 && gain.seconds > 1e-9; }

  bool isSpent() const { return graph.getWork() >= limit; }

  /// Changes of the variables around one operation that would have it send less (or otherwise), the best for itself
  /// first.
  std::vector<ShardingChange> list(Operation *op, bool mayCostMore = false) {
    std::multimap<double, ShardingChange> found; // By what the operation sends then.
    OperationPrice now = graph.price(op);
    std::set<std::vector<std::pair<unsigned, const void *>>> seen;
    auto consider = [&](const ShardingChange &change) {
      std::vector<std::pair<unsigned, const void *>> key;
      for (auto &[variable, sharding] : change)
        key.emplace_back(variable, sharding.getAsOpaquePointer());
      if (isSpent() || change.empty() || !seen.insert(key).second)
        return;
      ShardingChange undo = graph.apply(change);
      OperationPrice price = graph.price(op);
      graph.apply(undo);
      if (price.linkBytes < now.linkBytes || mayCostMore)
        found.emplace(price.linkBytes, change);
    };
    if (graph.getRule(op))
      listWays(cast<ShardingRuleOpInterface>(op), consider);
    else
      listEdges(op, consider);
    std::vector<ShardingChange> changes;
    for (auto &[linkBytes, change] : found)
      if (changes.size() < (mayCostMore ? kMaxLeaps : kMaxStarts))
        changes.push_back(std::move(change));
    return changes;
  }

  /// Every way to cut the operation's factors: all values around lie so, or the operands alone, or the result alone;
  /// the result also cut along a dimension where partial sums would be reduced whole.
  void listWays(ShardingRuleOpInterface op, llvm::function_ref<void(const ShardingChange &)> consider) {
    const ShardingRule &rule = *graph.getRule(op);
    std::vector<spmd::Sharding> operands;
    for (Value operand : op->getOperands())
      operands.push_back(shardingOf(operand));
    spmd::Sharding result = shardingOf(op->getResult(0));
    std::vector<FactorAxes> ways = listSuggestedAssignments(mesh, rule, operands, result);
    llvm::append_range(ways, listAllAssignments(getAutomaticMesh(op), rule, operands, result));
    graph.addWork(ways.size());
    for (const FactorAxes &axes : ways) {
      if (isSpent())
        return;
      ShardingChange ofOperands, ofResult;
      bool isPossible = true;
      for (auto [operand, factors] : llvm::zip(op->getOperands(), rule.operands))
        isPossible = isPossible && add(ofOperands, operand, spmdc::shardingOf(mesh, rule, factors, axes));
      std::optional<spmd::Sharding> made = spmdc::shardingOf(mesh, rule, rule.results[0], axes);
      if (!isPossible || !add(ofResult, op->getResult(0), made))
        continue;
      consider(ofOperands);
      consider(ofResult);
      ShardingChange all = ofOperands;
      for (auto &entry : ofResult)
        all.insert(entry);
      consider(all);
      for (auto [factor, list] : llvm::zip(rule.factors, axes)) {
        if (factor.kind != FactorKind::Reduction || list.empty())
          continue;
        for (size_t dim = 0; dim < made->dims.size(); ++dim) {
          spmd::Sharding scattered = *made;
          llvm::append_range(scattered.dims[dim], list);
          if (sizeOf(mesh, scattered.dims[dim]) > cast<ArrayType>(op->getResult(0).getType()).getDimSize(dim))
            continue;
          ShardingChange change;
          if (add(change, op->getResult(0), scattered))
            consider(change);
        }
      }
    }
  }

  /// A value lies as its place wants it.
  void listEdges(Operation *op, llvm::function_ref<void(const ShardingChange &)> consider) {
    SmallVector<Value> places;
    if (isa<ReshardOp, ForOp, WhileOp>(op))
      llvm::append_range(places, op->getResults());
    else if (isa<YieldOp>(op))
      llvm::append_range(places, op->getParentOp()->getResults());
    SmallVector<Type> wanted;
    if (auto ret = dyn_cast<func::ReturnOp>(op))
      llvm::append_range(wanted, ret->getParentOfType<func::FuncOp>().getResultTypes());
    else
      llvm::append_range(wanted, ValueRange(places).getTypes());
    for (auto [index, operand, type] : llvm::enumerate(op->getOperands(), wanted)) {
      auto to = dyn_cast<ArrayType>(type);
      if (!to || !isa<ArrayType>(operand.getType()))
        continue;
      ShardingChange ofOperand, ofPlace;
      add(ofOperand, operand, to.getShardingOrOpen().toValue());
      consider(ofOperand);
      if (index >= places.size())
        continue;
      add(ofPlace, places[index], shardingOf(operand));
      consider(ofPlace);
    }
  }

  static spmd::Sharding shardingOf(Value value) {
    return cast<ArrayType>(value.getType()).getShardingOrOpen().toValue();
  }

  /// False where there is no such sharding, or one value would lie in two ways.
  bool add(ShardingChange &change, Value value, const std::optional<spmd::Sharding> &sharding) {
    if (!sharding)
      return false;
    std::optional<unsigned> variable = graph.getVariable(value);
    if (!variable)
      return true;
    ShardingAttr wanted = ShardingAttr::fromValue(value.getContext(), *sharding);
    if (wanted.hasSameAxes(graph.getSharding(*variable)))
      return true;
    if (!graph.mayLie(*variable, wanted))
      return false;
    auto [entry, isNew] = change.insert({*variable, wanted});
    return isNew || entry->second == wanted;
  }

  /// Makes the first change that helps, carried as far as it helps most, and returns what it gains.
  std::optional<OperationPrice> improve(Operation *op, std::vector<ShardingChange> *undos = nullptr) {
    for (const ShardingChange &start : list(op)) {
      std::optional<ShardingChange> best;
      OperationPrice bestGain;
      size_t size = 0;
      for (unsigned radius : kRadii) {
        ShardingChange change = start;
        graph.follow(change, radius);
        if (change.size() == size || isSpent())
          break;
        size = change.size();
        OperationPrice gain = getGain(change);
        if (helps(gain) && (!best || gain.seconds > bestGain.seconds)) {
          best = change;
          bestGain = gain;
        }
      }
      if (!best)
        continue;
      make(*best, undos);
      return bestGain;
    }
    return std::nullopt;
  }

  /// Makes the change that helps most of those that are carried through all that shares the dimensions.
  bool improveFar(Operation *op, double farLimit) {
    std::optional<ShardingChange> best;
    OperationPrice bestGain;
    std::vector<ShardingChange> starts = list(op);
    starts.resize(std::min(starts.size(), kMaxFarStarts));
    for (ShardingChange &change : starts) {
      if (graph.getWork() >= farLimit)
        break;
      graph.follow(change, kFarRadius, /*isFar=*/true);
      OperationPrice gain = getGain(change);
      if (helps(gain) && (!best || gain.seconds > bestGain.seconds)) {
        best = std::move(change);
        bestGain = gain;
      }
    }
    if (best)
      make(*best, nullptr);
    return best.has_value();
  }

  /// Makes a change that helps once the operations that it touches have been improved.
  bool leap(Operation *op) {
    for (const ShardingChange &start : list(op, /*mayCostMore=*/true)) {
      for (unsigned radius : {kRadii[0], kRadii[std::size(kRadii) - 1]}) {
        if (isSpent())
          return false;
        ShardingChange change = start;
        graph.follow(change, radius);
        OperationPrice total = getGain(change);
        std::vector<ShardingChange> undos;
        make(change, &undos);
        for (Operation *touched : graph.getTouched(change))
          while (!isSpent() && touched != op && graph.price(touched).linkBytes > 0) {
            std::optional<OperationPrice> gain = improve(touched, &undos);
            if (!gain)
              break;
            total.seconds += gain->seconds;
            total.linkBytes += gain->linkBytes;
          }
        if (helps(total))
          return true;
        for (const ShardingChange &undo : llvm::reverse(undos))
          graph.apply(undo);
      }
    }
    return false;
  }

  void make(const ShardingChange &change, std::vector<ShardingChange> *undos) {
    ShardingChange undo = graph.apply(change);
    if (undos)
      undos->push_back(std::move(undo));
  }

  OperationPrice getGain(const ShardingChange &change) {
    llvm::SetVector<Operation *> touched = graph.getTouched(change);
    OperationPrice gain;
    for (double sign : {1.0, -1.0}) {
      ShardingChange undo;
      if (sign < 0)
        undo = graph.apply(change);
      for (Operation *op : touched) {
        OperationPrice price = graph.price(op);
        gain.seconds += sign * price.seconds;
        gain.linkBytes += sign * price.linkBytes;
      }
      graph.apply(undo);
    }
    return gain;
  }

  ShardingGraph graph;
  const spmd::MeshShape &mesh;
  const double effort;
  double limit = 0; ///< Of the work, for the search that is under way.
};

class ChooseShardingsPass : public impl::ChooseShardingsBase<ChooseShardingsPass> {
public:
  using ChooseShardingsBase::ChooseShardingsBase;

private:
  void runOnOperation() override {
    auto &planner = getAnalysis<ReshardPlanner>();
    for (auto func : getOperation().getOps<func::FuncOp>())
      if (!func.isExternal()) {
        Search search(func, planner, effort);
        remarks ? search.runWithRemarks() : search.run();
      }
    getOperation().walk([](Operation *op) { op->removeAttr(kAnnotatedAttrName); });
    getOperation().walk([](func::ReturnOp op) { reconcileReturn(op); });
  }

  /// A returned value takes the sharding of the result.
  static void reconcileReturn(func::ReturnOp op) {
    OpBuilder builder(op);
    for (auto [index, expected] : llvm::enumerate(op->getParentOfType<func::FuncOp>().getResultTypes())) {
      Value value = op.getOperand(index);
      auto from = dyn_cast<ArrayType>(value.getType()), to = dyn_cast<ArrayType>(expected);
      if (!from || !to || from.getShardingOrOpen().hasSameAxes(to.getShardingOrOpen()))
        continue;
      std::string why = ("result " + Twine(index) + " is " + to.str() + "; the value lies as " + from.str()).str();
      op.setOperand(index, builder.create<ReshardOp>(value.getLoc(), to, value, builder.getStringAttr(why)));
    }
  }
};

} // namespace
} // namespace spmdc
