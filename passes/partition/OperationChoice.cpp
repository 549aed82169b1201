//===- OperationChoice.cpp - how one operation runs on the devices --------===//

#include "passes/partition/OperationChoice.h"
#include "passes/partition/Assignments.h"
#include "passes/partition/LinearCone.h"
#include "passes/partition/Moves.h"
#include "passes/partition/ReductionShare.h"
#include "passes/partition/Regrouping.h"

#include <cmath>
#include <limits>

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
  Chooser(ReshardPlanner &planner, Forms &forms, WindowsOf windowsOf, ShardingRuleOpInterface op)
      : mesh(planner.getMesh()), model(planner.getModel()), meshAttr(MeshAttr::fromValue(op->getContext(), "", mesh)),
        planner(planner), forms(forms), windowsOf(windowsOf), op(op), rule(op.getShardingRule()),
        result(cast<ArrayType>(op->getResult(0).getType())) {
    for (ShardingRuleOpInterface sharer : reductionShare.sharers)
      sharersAxes.push_back(findPartialAxes(mesh, sharer, sharer.getShardingRule()));
    for (Value operand : op->getOperands())
      isOfLittle.push_back(isMadeOfLittle(operand));
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
    for (const std::optional<OperationPrice> &price : {priceMoves(), priceWindow()})
      if (price && (price->seconds < best->price.seconds || isNotBuilt)) {
        best->movesDirectly = true;
        best->price = *price;
      }
    Value from;
    if (std::optional<OperationPrice> price = priceRegrouping(from); price && price->seconds < best->price.seconds) {
      best->movesDirectly = true;
      best->regroupedFrom = from;
      best->price = *price;
    }
    best->assignments = assignments;
    return std::move(*best);
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
      if (leastComputeSeconds(axes) > bound * (1 + CostModel::kAlike))
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

  /// Of exchanges from the operands as they lie to the result as it is wanted, less what the operations would send that
  /// are skipped; nothing where the operation does more than move elements.
  std::optional<OperationPrice> priceMoves() {
    SmallVector<Operation *> skipped;
    ArrayMoves moves = getNearestMoves(op, &skipped);
    if (moves.parts.empty() || !result.getShardingOrOpen().getUnreduced().empty())
      return std::nullopt;
    auto local = static_cast<double>(result.getLocalBytes(mesh));
    CollectiveCost cost;
    for (const ArrayMove &part : moves.parts) {
      auto from = cast<ArrayType>(part.source.getType());
      if (!from.getShardingOrOpen().getUnreduced().empty())
        return std::nullopt;
      cost = cost + getExchangeCost(from, result, part.dims) + forms.getDebt(part.source, op);
    }
    // Each part is written, and, where there are several, the result is chosen from them.
    bool isChosen = moves.parts.size() > 1 || moves.outside;
    double touched = local * static_cast<double>(moves.parts.size() + isChosen);
    CollectiveCost saved;
    for (Operation *other : skipped)
      saved = saved + getMoveCost(other);
    // What devices do by themselves becomes part of their kernels; an exchange does not.
    if (best->price.linkBytes == 0 && cost.linkBytes == saved.linkBytes)
      return std::nullopt;
    return priceOf(cost, touched, saved);
  }

  /// Of the part that the operation has in the window of an array, or in none where it is not built.
  std::optional<OperationPrice> priceWindow() {
    std::optional<CollectiveCost> share = getShare(op);
    if (!share)
      return std::nullopt;
    bool isBuilt = !windowsOf(op)->isSkipped(op);
    auto touched = isBuilt ? static_cast<double>(result.getLocalBytes(mesh)) : 0;
    return priceOf(*share + forms.getDebt(op->getOperand(0), op), touched, CollectiveCost());
  }

  /// What another operation, or this one, pays of a window.
  std::optional<CollectiveCost> getShare(Operation *payer) const {
    const Windows *windows = windowsOf(payer);
    return windows ? windows->getShare(payer, model) : std::nullopt;
  }

  /// Of exchanges that touch so many bytes of memory, and spare what other operations would send.
  OperationPrice priceOf(const CollectiveCost &cost, double touched, const CollectiveCost &saved) const {
    int64_t devices = mesh.deviceCount();
    return {model.seconds(cost, devices) + touched / model.memoryPerSecond - model.seconds(saved, devices),
            cost.linkBytes - saved.linkBytes};
  }

  /// Of a reshape as an exchange of the ends of runs, from its operand before it is brought into any other sharding.
  std::optional<OperationPrice> priceRegrouping(Value &from) {
    auto reshape = dyn_cast<ReshapeOp>(op.getOperation());
    if (!reshape || best->price.linkBytes == 0)
      return std::nullopt;
    SmallVector<Operation *> skipped;
    std::optional<Regrouping> regrouping = findRegrouping(mesh, reshape, result, typeOf, &skipped);
    if (!regrouping || (regrouping->isWhole && isLocalReshape(mesh, reshape, typeOf(regrouping->source), result)))
      return std::nullopt;
    from = regrouping->source;
    CollectiveCost saved;
    for (Operation *other : skipped)
      saved = saved + getMoveCost(other);
    CollectiveCost cost =
        getExchangeCost(regrouping->from, regrouping->to, regrouping->moves) + forms.getDebt(regrouping->source, op);
    return priceOf(cost, 2 * static_cast<double>(result.getLocalBytes(mesh)), saved);
  }

  CollectiveCost getExchangeCost(ArrayType from, ArrayType to, const std::vector<spmd::DimMove> &dims) {
    double bytes = getExchangeBytes(mesh, from, to, dims);
    auto local = static_cast<double>(to.getLocalBytes(mesh));
    if (bytes == 0)
      return {.peakBytes = local};
    return model.costOf("exchange", listAxisNames({from, to}), bytes, local);
  }

  /// What an operation before this one sends, which moves its operand or changes its sharding.
  CollectiveCost getMoveCost(Operation *other) {
    auto to = cast<ArrayType>(other->getResult(0).getType());
    if (auto reshard = dyn_cast<ReshardOp>(other)) {
      // What is owed is in the price of the assignment.
      bool isOwed = forms.getDebt(reshard, op).wireBytes > 0;
      return isOwed ? CollectiveCost() : planner.plan(reshard.getOperand().getType(), to).cost;
    }
    CollectiveCost cost;
    if (needsExchange(other))
      for (const ArrayMove &part : cast<ShardingRuleOpInterface>(other).getMoves().parts)
        cost = cost + getExchangeCost(typeOf(part.source), to, part.dims);
    // It does not send more than it pays.
    std::optional<CollectiveCost> share = getShare(other);
    return share && *share < cost ? *share : cost;
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
  /// Whether the operation looks at no more of its operand than its result has.
  static bool readsPart(Operation *op) { return isa<SliceOp, DynamicSliceOp, TakeOp, TakeAlongOp>(op); }

  /// What the candidate takes at least.
  double leastSeconds(const OperationChoice &candidate) {
    CollectiveCost cost{.linkBytes = planner.getLeastBytes(candidate.result, result) * shareOf(candidate)};
    for (size_t i = 0; i < candidate.operands.size(); ++i)
      cost.linkBytes += getLeastBytes(i, candidate.operands[i]);
    return model.seconds(cost, mesh.deviceCount()) + computeSeconds(candidate);
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
    return OperationPrice{model.seconds(cost, devices) + computeSeconds(candidate), cost.linkBytes};
  }

  /// Of computeSeconds, what follows from the factors alone.
  double leastComputeSeconds(const FactorAxes &axes) {
    if (isa<DotGeneralOp>(op.getOperation()))
      return dotSeconds(axes);
    if (isa<ArgsortOp>(op.getOperation()) || getUpdate(op.getOperation()))
      return 0;
    std::vector<double> pieces;
    for (const AxisList &list : axes)
      pieces.push_back(static_cast<double>(sizeOf(mesh, list)));
    auto bytesOf = [&](ArrayType type, const ValueFactors &factors) {
      auto bytes = static_cast<double>(type.getBytes());
      for (const DimFactors &dim : factors)
        for (unsigned factor : dim)
          bytes /= pieces[factor];
      return bytes;
    };
    double written = bytesOf(result, rule.results[0]), bytes = written;
    for (size_t i = 0; i < rule.operands.size(); ++i)
      if (!isOfLittle[i])
        bytes += i == 0 && readsPart(op) ? written : bytesOf(operandType(i), rule.operands[i]);
    return bytes / model.memoryPerSecond;
  }

  double dotSeconds(const FactorAxes &axes) const {
    double work = 2;
    for (size_t f = 0; f < rule.factors.size(); ++f) {
      int64_t size = rule.factors[f].size;
      for (const spmd::AxisRef &axis : axes[f])
        size = spmd::localDimSize(size, {axis.sizeIn(mesh)});
      work *= static_cast<double>(size);
    }
    return work / model.flopsPerSecond;
  }

  /// Time of the local operation: a contraction by its multiplications, an order by its comparisons, anything else by
  /// the memory it touches, where nothing lies that is made of little.
  double computeSeconds(const OperationChoice &candidate) {
    if (isa<DotGeneralOp>(op.getOperation()))
      return dotSeconds(candidate.axes);
    if (auto order = dyn_cast<ArgsortOp>(op.getOperation())) {
      auto elements = static_cast<double>(candidate.result.getLocal(meshAttr).getNumElements());
      return model.orderSeconds(elements, static_cast<double>(result.getDimSize(order.getDim())));
    }
    // What is updated in place is touched where the update goes.
    if (std::optional<unsigned> update = getUpdate(op.getOperation()))
      return 2 * static_cast<double>(candidate.operands[*update].getLocalBytes(mesh)) / model.memoryPerSecond;
    auto written = static_cast<double>(candidate.result.getLocalBytes(mesh)), bytes = written;
    for (auto [index, type] : llvm::enumerate(candidate.operands)) {
      // Of what a part is taken of, as much as is taken: also of rows that are taken again and again.
      bool isTaken = index == 0 && readsPart(op);
      bytes += isOfLittle[index] ? 0 : isTaken ? written : static_cast<double>(type.getLocalBytes(mesh));
    }
    return bytes / model.memoryPerSecond;
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
  ShardingRule rule;
  ArrayType result;
  const ReductionShare reductionShare = getReductionShare(op);
  std::vector<AxisList> sharersAxes;
  SmallVector<bool> isOfLittle; ///< The operands (Makers.h).
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

OperationChoice chooseAssignment(ReshardPlanner &planner, Forms &forms, WindowsOf windowsOf,
                                 ShardingRuleOpInterface op) {
  return Chooser(planner, forms, windowsOf, op).run();
}

} // namespace spmdc
