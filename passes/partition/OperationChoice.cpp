//===- OperationChoice.cpp - how one operation runs on the devices --------===//

#include "passes/partition/OperationChoice.h"
#include "passes/partition/Assignments.h"
#include "passes/partition/ComputeTime.h"
#include "passes/partition/MovePrices.h"
#include "passes/partition/ReductionShare.h"

#include <cmath>
#include <limits>
#include <map>

using namespace mlir;

namespace spmdc {
namespace {

std::vector<std::string> namesOf(const AxisList &axes) {
  std::vector<std::string> names;
  for (const spmd::AxisRef &axis : axes)
    names.push_back(axis.name);
  return names;
}

class Chooser {
public:
  Chooser(ReshardPlanner &planner, Forms &forms, WindowsOf windowsOf, ShardingRuleOpInterface op,
          const OperationTraits &traits)
      : mesh(planner.getMesh()), model(planner.getModel()), meshAttr(MeshAttr::fromValue(op->getContext(), "", mesh)),
        planner(planner), forms(forms), windowsOf(windowsOf), op(op), rule(traits.rule),
        result(cast<ArrayType>(op->getResult(0).getType())), reductionShare(traits.reductionShare),
        computeTime(mesh, model, op, rule) {
    for (ShardingRuleOpInterface sharer : reductionShare.sharers)
      sharersAxes.push_back(findPartialAxes(mesh, sharer, sharer.getShardingRule()));
  }

  OperationChoice run() {
    std::vector<spmd::Sharding> operands, roots;
    for (size_t i = 0; i < rule.operands.size(); ++i) {
      operands.push_back(operandType(i).getShardingOrOpen().toValue());
      roots.push_back(typeOf(forms.getRoot(op->getOperand(i))).getShardingOrOpen().toValue());
    }
    spmd::Sharding wanted = result.getShardingOrOpen().toValue();
    compare(listSuggestedAssignments(mesh, rule, operands, wanted));
    if (best->price.linkBytes > 0) {
      if (roots != operands)
        compare(listSuggestedAssignments(mesh, rule, roots, wanted));
      llvm::append_range(operands, roots);
      compare(listAllAssignments(getAutomaticMesh(op), rule, operands, wanted));
    }
    bool isNotBuilt = windowsOf(op) && windowsOf(op)->isSkipped(op);
    MovePrices moves(planner, forms, windowsOf, op);
    for (const std::optional<OperationPrice> &price : {moves.ofMoves(best->price), moves.ofWindow()})
      if (price && (price->seconds < best->price.seconds || isNotBuilt)) {
        best->movesDirectly = true;
        best->price = *price;
      }
    Value from;
    if (std::optional<OperationPrice> price = moves.ofRegrouping(best->price, from);
        price && price->seconds < best->price.seconds) {
      best->movesDirectly = true;
      best->regroupedFrom = from;
      best->price = *price;
    }
    best->assignments = assignments;
    return std::move(*best);
  }

  std::optional<std::vector<OperationWay>> listWays(size_t most) {
    std::vector<spmd::Sharding> operands;
    for (size_t i = 0; i < rule.operands.size(); ++i)
      operands.push_back(operandType(i).getShardingOrOpen().toValue());
    std::vector<FactorAxes> listed =
        listAllAssignments(getAutomaticMesh(op), rule, operands, result.getShardingOrOpen().toValue());
    if (listed.empty() || listed.size() > most)
      return std::nullopt;
    std::vector<OperationWay> ways;
    std::map<std::vector<const void *>, size_t> known; // Only looked up.
    for (const FactorAxes &axes : listed) {
      std::optional<OperationChoice> choice = tryAssign(axes);
      if (!choice)
        continue;
      std::vector<const void *> types = {choice->result.getAsOpaquePointer()};
      for (ArrayType type : choice->operands)
        types.push_back(type.getAsOpaquePointer());
      double seconds = model.seconds(getCombiningCost(*choice), mesh.deviceCount()) + computeTime.of(*choice);
      auto [entry, isNew] = known.try_emplace(std::move(types), ways.size());
      if (isNew)
        ways.push_back({choice->operands, choice->result, seconds, shareOf(*choice)});
      else
        ways[entry->second].seconds = std::min(ways[entry->second].seconds, seconds);
    }
    return ways;
  }

private:
  static ArrayType typeOf(Value value) { return cast<ArrayType>(value.getType()); }
  ArrayType operandType(size_t index) const { return typeOf(op->getOperand(index)); }

  void compare(const std::vector<FactorAxes> &listed) {
    assignments += static_cast<int64_t>(listed.size());
    struct Bounded {
      OperationChoice choice;
      double leastSeconds = 0;
    };
    // Most need no plan to see that they are dearer, and many no types.
    double bound = best ? best->price.seconds : std::numeric_limits<double>::infinity();
    std::vector<Bounded> candidates;
    for (const FactorAxes &axes : listed) {
      if (computeTime.atLeast(axes) > bound * (1 + CostModel::kAlike))
        continue;
      if (std::optional<OperationChoice> choice = tryAssign(axes)) {
        double seconds = leastSeconds(*choice);
        candidates.push_back({std::move(*choice), seconds});
      }
    }
    if (candidates.empty())
      return;
    // The price of the most promising one is a bound for the others.
    Bounded &first = *llvm::min_element(
        candidates, [](const Bounded &a, const Bounded &b) { return a.leastSeconds < b.leastSeconds; });
    std::optional<OperationPrice> ofFirst;
    if (!(first.leastSeconds > bound * (1 + CostModel::kAlike))) {
      ofFirst = getPrice(first.choice, std::numeric_limits<double>::infinity());
      bound = std::min(bound, ofFirst->seconds);
    }
    for (Bounded &candidate : candidates) {
      if (best && planner.getExplored() - exploredBefore > kMostExplored)
        return;
      double limit = bound * (1 + CostModel::kAlike);
      std::optional<OperationPrice> price = &candidate == &first              ? ofFirst
                                            : candidate.leastSeconds <= limit ? getPrice(candidate.choice, limit)
                                                                              : std::nullopt;
      if (!price)
        continue;
      candidate.choice.price = *price;
      bound = std::min(bound, candidate.choice.price.seconds);
      if (!best || candidate.choice.price.isBetterThan(best->price))
        best = std::move(candidate.choice);
    }
  }

  std::optional<OperationChoice> tryAssign(const FactorAxes &axes) {
    OperationChoice candidate;
    candidate.axes = axes;
    for (size_t f = 0; f < axes.size(); ++f)
      if (rule.factors[f].kind == FactorKind::Reduction)
        candidate.reduced.insert(candidate.reduced.end(), axes[f].begin(), axes[f].end());
    MLIRContext *context = op->getContext();
    for (size_t i = 0; i < rule.operands.size(); ++i) {
      std::optional<spmd::Sharding> sharding = shardingOf(mesh, rule, rule.operands[i], axes);
      if (!sharding)
        return std::nullopt;
      if (op.isAddedTo(i))
        sharding->unreduced = candidate.reduced;
      candidate.operands.push_back(operandType(i).withSharding(ShardingAttr::fromValue(context, *sharding)));
    }
    std::optional<spmd::Sharding> sharding = shardingOf(mesh, rule, rule.results[0], axes);
    if (!sharding)
      return std::nullopt;
    if (op.getReductionKind() == ReductionKind::sum)
      sharding->unreduced = candidate.reduced;
    candidate.result = result.withSharding(ShardingAttr::fromValue(context, *sharding));
    return candidate;
  }

  /// Of bringing an operand there. Many candidates have it lie alike, and no form is made meanwhile.
  const CollectiveCost &getCost(size_t operand, ArrayType wanted) {
    auto [entry, isNew] = costs.try_emplace({operand, wanted});
    if (isNew)
      entry->second =
          forms.find(op->getOperand(operand), wanted, op).cost.scaledBy(1 / getTripsPerForm(operand, wanted));
    return entry->second;
  }
  double getLeastBytes(size_t operand, ArrayType wanted) {
    auto [entry, isNew] = leastBytes.try_emplace({operand, wanted});
    if (isNew)
      entry->second = forms.getLeastBytes(op->getOperand(operand), wanted, op) / getTripsPerForm(operand, wanted);
    return entry->second;
  }
  /// A form that is made in front of a loop is paid for once. But where each iteration looks at a part of it, all of it
  /// is held for that: what holds more than what is there has to be worth it in each iteration.
  double getTripsPerForm(size_t operand, ArrayType wanted) const {
    bool holdsMore = wanted.getLocalBytes(mesh) > operandType(operand).getLocalBytes(mesh);
    return holdsMore && readsPart(op) ? 1 : spmdc::getTripsPerForm(op->getOperand(operand), op);
  }

  /// What the candidate takes at least.
  double leastSeconds(const OperationChoice &candidate) {
    CollectiveCost cost{.linkBytes = planner.getLeastBytes(candidate.result, result) * shareOf(candidate)};
    for (size_t i = 0; i < candidate.operands.size(); ++i)
      cost.linkBytes += getLeastBytes(i, candidate.operands[i]);
    return model.seconds(cost, mesh.deviceCount()) + computeTime.of(candidate);
  }

  double shareOf(const OperationChoice &candidate) const {
    return candidate.result.getShardingOrOpen().getUnreduced().empty()
               ? 1
               : reductionShare.of(candidate.result, sharersAxes);
  }

  /// Nothing where that is more than `bound` seconds.
  std::optional<OperationPrice> getPrice(const OperationChoice &candidate, double bound) {
    // What is known at least is replaced by what is known, one after the other.
    double seconds = leastSeconds(candidate);
    auto know = [&](double leastBytes, const CollectiveCost &cost) {
      seconds += model.seconds(cost, mesh.deviceCount()) - model.seconds({.linkBytes = leastBytes}, mesh.deviceCount());
      return seconds <= bound;
    };
    double share = shareOf(candidate), leastOfResult = planner.getLeastBytes(candidate.result, result) * share;
    CollectiveCost cost = planner.plan(candidate.result, result).cost.scaledBy(share);
    if (!know(leastOfResult, cost))
      return std::nullopt;
    for (size_t i = 0; i < candidate.operands.size(); ++i) {
      double least = getLeastBytes(i, candidate.operands[i]);
      CollectiveCost ofOperand = getCost(i, candidate.operands[i]);
      cost = cost + ofOperand;
      if (!know(least, ofOperand))
        return std::nullopt;
    }
    cost = cost + getCombiningCost(candidate);
    return OperationPrice{model.seconds(cost, mesh.deviceCount()) + computeTime.of(candidate), cost.linkBytes};
  }

  /// Of results that are no sums, or of which devices tell one another about their pieces.
  CollectiveCost getCombiningCost(const OperationChoice &candidate) {
    CollectiveCost cost;
    int64_t devices = mesh.deviceCount();
    if (op.getReductionKind() != ReductionKind::sum && !candidate.reduced.empty()) {
      auto group = static_cast<double>(sizeOf(mesh, candidate.reduced));
      auto bytes = static_cast<double>(candidate.result.getLocalBytes(mesh));
      double sent = 2 * (group - 1) * (static_cast<double>(devices) / group) * bytes;
      cost = cost + model.costOf("all_reduce", namesOf(candidate.reduced), sent, bytes);
    }
    for (size_t f = 0; f < rule.factors.size(); ++f) {
      const AxisList &axes = candidate.axes[f];
      if (rule.factors[f].kind != FactorKind::Combined || axes.empty())
        continue;
      double combined = op.getCombiningBytes(sizeOf(mesh, axes), candidate.result.getLocal(meshAttr));
      if (combined > 0)
        cost = cost + model.costOf("all_gather", namesOf(axes), combined * static_cast<double>(devices), combined);
    }
    return cost;
  }

  /// Shardings on the way of reshards that are looked at to price one operation. On meshes of two or three axes there
  /// are far fewer; beyond, assignments that come later are not tried (what the shardings around suggest comes first).
  static constexpr int64_t kMostExplored = 20000;

  const spmd::MeshShape &mesh;
  const CostModel &model;
  const MeshAttr meshAttr;
  ReshardPlanner &planner;
  const int64_t exploredBefore = planner.getExplored();
  Forms &forms;
  WindowsOf windowsOf;
  ShardingRuleOpInterface op;
  const ShardingRule &rule;
  ArrayType result;
  const ReductionShare &reductionShare;
  std::vector<AxisList> sharersAxes;
  const ComputeTime computeTime;
  int64_t assignments = 0;
  std::optional<OperationChoice> best;
  llvm::DenseMap<std::pair<size_t, Type>, CollectiveCost> costs;
  llvm::DenseMap<std::pair<size_t, Type>, double> leastBytes;
};

} // namespace

ReshardOp getOwnReshard(Value value) {
  auto reshard = value.getDefiningOp<ReshardOp>();
  bool isOwn =
      reshard && reshard->hasOneUse() && reshard.getOperand().getType().getShardingOrOpen().getUnreduced().empty();
  return isOwn ? reshard : ReshardOp();
}

OperationChoice chooseAssignment(ReshardPlanner &planner, Forms &forms, WindowsOf windowsOf, ShardingRuleOpInterface op,
                                 const OperationTraits &traits) {
  return Chooser(planner, forms, windowsOf, op, traits).run();
}

std::optional<std::vector<OperationWay>> listOperationWays(ReshardPlanner &planner, ShardingRuleOpInterface op,
                                                           const OperationTraits &traits, size_t most) {
  Forms none(planner, /*longestChain=*/0);
  return Chooser(planner, none, [](Operation *) { return nullptr; }, op, traits).listWays(most);
}

} // namespace spmdc
