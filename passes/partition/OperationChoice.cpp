//===- OperationChoice.cpp - how one operation runs on the devices --------===//

#include "passes/partition/OperationChoice.h"

#include "ir/array/PartialSums.h"
#include "passes/analysis/RunCounts.h"
#include "passes/partition/Assignments.h"
#include "passes/partition/ComputeTime.h"
#include "passes/partition/MovePrices.h"
#include "passes/partition/OperationCandidates.h"
#include "passes/partition/OwnerRead.h"

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
        computeTime(mesh, model, op, rule), candidates(mesh, op, traits, computeTime) {
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
      candidates.visitAll(operands, wanted, [&](auto &listed) { compare(MutableArrayRef(listed)); });
    }
    bool isNotBuilt = windowsOf(op) && windowsOf(op)->isSkipped(op);
    MovePrices moves(planner, forms, windowsOf, op);
    for (const std::optional<OperationPrice> &price : {moves.ofMoves(best->price), moves.ofWindow()})
      if (price && (price->seconds < best->price.seconds || isNotBuilt)) {
        best->movesDirectly = true;
        best->price = *price;
      }
    Value from;
    if (std::optional<OperationPrice> price = moves.ofReshape(best->price, from);
        price && price->seconds < best->price.seconds) {
      best->movesDirectly = true;
      best->reshapedFrom = from;
      best->price = *price;
    }
    best->assignments = assignments;
    return std::move(*best);
  }

  std::optional<std::vector<OperationWay>> listWays(size_t most) {
    std::vector<spmd::Sharding> operands;
    for (size_t i = 0; i < rule.operands.size(); ++i)
      operands.push_back(operandType(i).getShardingOrOpen().toValue());
    spmd::Sharding wanted = result.getShardingOrOpen().toValue();
    std::vector<FactorAxes> listed = listAllAssignments(getAutomaticMesh(op), rule, operands, wanted);
    if (listed.empty() || listed.size() > most)
      return std::nullopt;
    // Such as cut a dimension into more pieces than it has elements.
    llvm::append_range(listed, listSuggestedAssignments(mesh, rule, operands, wanted));
    std::vector<OperationWay> ways;
    std::map<std::vector<const void *>, size_t> known; // Only looked up.
    for (FactorAxes &axes : listed) {
      OperationChoice choice;
      choice.axes = std::move(axes);
      if (!candidates.tryAssign(choice))
        continue;
      std::vector<const void *> types = {choice.result.getAsOpaquePointer()};
      for (ArrayType type : choice.operands)
        types.push_back(type.getAsOpaquePointer());
      double seconds = model.seconds(getCombiningCost(choice), mesh.deviceCount()) + computeTime.of(choice);
      auto [entry, isNew] = known.try_emplace(std::move(types), ways.size());
      if (isNew)
        ways.push_back({choice.operands, choice.result, seconds, shareOf(choice) * ownerShare()});
      else
        ways[entry->second].seconds = std::min(ways[entry->second].seconds, seconds);
    }
    return ways;
  }

private:
  static ArrayType typeOf(Value value) { return cast<ArrayType>(value.getType()); }
  ArrayType operandType(size_t index) const { return typeOf(op->getOperand(index)); }

  void compare(std::vector<FactorAxes> listed) {
    std::vector<OperationCandidate> suggested = candidates.of(std::move(listed));
    compare(suggested);
  }

  void compare(MutableArrayRef<OperationCandidate> listed) {
    assignments += static_cast<int64_t>(listed.size());
    struct Bounded {
      const OperationCandidate *candidate;
      double leastSeconds = 0;
    };
    // Most need no plan to see that they are dearer, and many no types.
    double bound = best ? best->price.seconds : std::numeric_limits<double>::infinity();
    std::vector<Bounded> bounded;
    for (OperationCandidate &candidate : listed)
      if (!(candidate.leastComputeSeconds > bound * (1 + CostModel::kAlike)) && candidates.tryAssign(candidate))
        bounded.push_back({&candidate, leastSeconds(candidate)});
    if (bounded.empty())
      return;
    // The price of the most promising one is a bound for the others.
    Bounded &first =
        *llvm::min_element(bounded, [](const Bounded &a, const Bounded &b) { return a.leastSeconds < b.leastSeconds; });
    std::optional<OperationPrice> ofFirst;
    if (!(first.leastSeconds > bound * (1 + CostModel::kAlike))) {
      ofFirst = getPrice(*first.candidate, std::numeric_limits<double>::infinity());
      bound = std::min(bound, ofFirst->seconds);
    }
    for (Bounded &each : bounded) {
      if (best && planner.getExplored() - exploredBefore > kMostExplored)
        return;
      double limit = bound * (1 + CostModel::kAlike);
      std::optional<OperationPrice> price = &each == &first              ? ofFirst
                                            : each.leastSeconds <= limit ? getPrice(*each.candidate, limit)
                                                                         : std::nullopt;
      if (!price)
        continue;
      bound = std::min(bound, price->seconds);
      if (best && !price->isBetterThan(best->price))
        continue;
      best = each.candidate->choice;
      best->price = *price;
    }
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
  double getTripsPerForm(size_t operand, ArrayType wanted) const {
    return spmdc::getTripsPerForm(op, static_cast<unsigned>(operand), operandType(operand), wanted, mesh);
  }

  /// What the candidate takes at least.
  double leastSeconds(const OperationCandidate &candidate) {
    const OperationChoice &choice = candidate.choice;
    CollectiveCost cost{.linkBytes = getLeastResultBytes(choice)};
    for (size_t i = 0; i < choice.operands.size(); ++i)
      cost.linkBytes += getLeastBytes(i, choice.operands[i]);
    return model.seconds(cost, mesh.deviceCount()) + candidate.computeSeconds;
  }

  /// Of bringing the result to its sharding.
  double getLeastResultBytes(const OperationChoice &candidate) {
    return planner.getLeastBytes(candidate.result, result) * shareOf(candidate) * ownerShare();
  }

  /// How much of what partial sums would send is sent where one device owns what is read (OwnerRead.h), at least.
  double ownerShare() { return isa<TakeOp, DynamicSliceOp>(op.getOperation()) ? 0.5 : 1; }

  double shareOf(const OperationChoice &candidate) {
    if (candidate.result.getShardingOrOpen().getUnreduced().empty())
      return 1;
    auto [entry, isNew] = shares.try_emplace(candidate.result);
    if (isNew)
      entry->second = reductionShare.of(candidate.result, sharersAxes);
    return entry->second;
  }

  /// Nothing where that is more than `bound` seconds.
  std::optional<OperationPrice> getPrice(const OperationCandidate &candidate, double bound) {
    const OperationChoice &choice = candidate.choice;
    // What is known at least is replaced by what is known, one after the other.
    double seconds = leastSeconds(candidate);
    auto know = [&](double leastBytes, const CollectiveCost &cost) {
      seconds += model.seconds(cost, mesh.deviceCount()) - model.seconds({.linkBytes = leastBytes}, mesh.deviceCount());
      return seconds <= bound;
    };
    std::optional<OwnerRead> read = OwnerRead::find(planner, op, choice.operands, choice.result, result);
    CollectiveCost cost = (read ? read->cost : planner.plan(choice.result, result).cost).scaledBy(shareOf(choice));
    if (!know(getLeastResultBytes(choice), cost))
      return std::nullopt;
    for (size_t i = 0; i < choice.operands.size(); ++i) {
      double least = getLeastBytes(i, choice.operands[i]);
      CollectiveCost ofOperand = getCost(i, choice.operands[i]);
      cost = cost + ofOperand;
      if (!know(least, ofOperand))
        return std::nullopt;
    }
    cost = cost + getCombiningCost(choice);
    return OperationPrice{model.seconds(cost, mesh.deviceCount()) + candidate.computeSeconds, cost.linkBytes};
  }

  /// Of results that are no sums, or of which devices tell one another about their pieces.
  CollectiveCost getCombiningCost(const OperationChoice &candidate) {
    CollectiveCost cost;
    int64_t devices = mesh.deviceCount();
    if (op.getReductionKind() != ReductionKind::sum && !candidate.reduced.empty()) {
      auto group = static_cast<double>(sizeOf(mesh, candidate.reduced));
      ArrayType partial = combinesElements(op) ? withPartialSums(op, candidate.result) : candidate.result;
      auto bytes = static_cast<double>(partial.getLocalBytes(mesh));
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
  OperationCandidates candidates;
  int64_t assignments = 0;
  std::optional<OperationChoice> best;
  llvm::DenseMap<std::pair<size_t, Type>, CollectiveCost> costs;
  llvm::DenseMap<std::pair<size_t, Type>, double> leastBytes;
  llvm::DenseMap<Type, double> shares; ///< Of results that are partial sums.
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

OperationPrice priceAsTheyLie(ReshardPlanner &planner, RunCounts &runs, ArrayRef<Operation *> ops) {
  OperationPrice sum;
  for (Operation *op : ops) {
    OperationPrice once = chooseAssignment(planner, cast<ShardingRuleOpInterface>(op)).price;
    auto count = static_cast<double>(runs.count(op));
    sum.seconds += count * once.seconds;
    sum.linkBytes += count * once.linkBytes;
  }
  return sum;
}

std::optional<std::vector<OperationWay>> listOperationWays(ReshardPlanner &planner, ShardingRuleOpInterface op,
                                                           const OperationTraits &traits, size_t most) {
  Forms none(planner, /*longestChain=*/0);
  return Chooser(planner, none, [](Operation *) { return nullptr; }, op, traits).listWays(most);
}

} // namespace spmdc
