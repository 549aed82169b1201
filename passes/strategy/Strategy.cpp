//===- Strategy.cpp - how one operation runs on the devices ---------------===//

#include "passes/strategy/Strategy.h"

#include "ir/array/PartialSums.h"
#include "passes/cost/RunCounts.h"
#include "passes/exchange/OwnerRead.h"
#include "passes/strategy/ComputeTime.h"
#include "passes/strategy/ExchangePrices.h"
#include "passes/strategy/FactorAxesLists.h"
#include "passes/strategy/StrategyTable.h"

#include <cmath>
#include <limits>
#include <map>

using namespace mlir;

namespace spmdc {
namespace {

std::vector<std::string> namesOf(const AxisRefs &axes) {
  std::vector<std::string> names;
  for (const spmd::AxisRef &axis : axes)
    names.push_back(axis.name);
  return names;
}

/// Prices the strategies of one operation.
class StrategySearch {
public:
  StrategySearch(ReshardPlanner &planner, AvailableShardings &available, WindowsOf windowsOf,
                 ShardingRuleOpInterface op, const OperationRule &operationRule)
      : mesh(planner.getMesh()), model(planner.getModel()), meshAttr(MeshAttr::fromValue(op->getContext(), "", mesh)),
        planner(planner), available(available), windowsOf(windowsOf), op(op), rule(operationRule.rule),
        result(cast<ArrayType>(op->getResult(0).getType())), reductionDiscount(operationRule.reductionDiscount),
        computeTime(mesh, model, op, rule), options(mesh, op, operationRule, computeTime) {
    for (ShardingRuleOpInterface sharer : reductionDiscount.sharers)
      sharersAxes.push_back(findPartialAxes(mesh, sharer, sharer.getShardingRule()));
  }

  Strategy run() {
    std::vector<spmd::Sharding> operands, roots;
    for (size_t i = 0; i < rule.operands.size(); ++i) {
      operands.push_back(operandType(i).getShardingOrOpen().toValue());
      roots.push_back(typeOf(available.getOriginal(op->getOperand(i))).getShardingOrOpen().toValue());
    }
    spmd::Sharding wanted = result.getShardingOrOpen().toValue();
    compare(listSuggestedFactorAxes(mesh, rule, operands, wanted));
    if (best->price.linkBytes > 0) {
      if (roots != operands)
        compare(listSuggestedFactorAxes(mesh, rule, roots, wanted));
      llvm::append_range(operands, roots);
      options.visitAll(operands, wanted, [&](auto &listed) { compare(MutableArrayRef(listed)); });
    }
    bool isNotBuilt = windowsOf(op) && windowsOf(op)->isSkipped(op);
    ExchangePrices moves(planner, available, windowsOf, op);
    for (const std::optional<Price> &price : {moves.ofMoves(best->price), moves.ofWindow()})
      if (price && (price->seconds < best->price.seconds || isNotBuilt)) {
        best->movesDirectly = true;
        best->price = *price;
      }
    Value from;
    if (std::optional<Price> price = moves.ofReshape(best->price, from);
        price && price->seconds < best->price.seconds) {
      best->movesDirectly = true;
      best->reshapedFrom = from;
      best->price = *price;
    }
    best->assignments = assignments;
    return std::move(*best);
  }

  std::optional<std::vector<SolverStrategy>> listStrategies(size_t most) {
    std::vector<spmd::Sharding> operands;
    for (size_t i = 0; i < rule.operands.size(); ++i)
      operands.push_back(operandType(i).getShardingOrOpen().toValue());
    spmd::Sharding wanted = result.getShardingOrOpen().toValue();
    std::vector<FactorAxes> listed = listAllFactorAxes(getAutomaticMesh(op), rule, operands, wanted);
    if (listed.empty() || listed.size() > most)
      return std::nullopt;
    // These include assignments that make more shards of a dimension than it has elements.
    llvm::append_range(listed, listSuggestedFactorAxes(mesh, rule, operands, wanted));
    std::vector<SolverStrategy> strategies;
    std::map<std::vector<const void *>, size_t> known; // Never iterated.
    for (FactorAxes &axes : listed) {
      Strategy strategy;
      strategy.axes = std::move(axes);
      if (!options.tryAssign(strategy))
        continue;
      std::vector<const void *> types = {strategy.result.getAsOpaquePointer()};
      for (ArrayType type : strategy.operands)
        types.push_back(type.getAsOpaquePointer());
      double seconds = model.seconds(getCombiningCost(strategy), mesh.deviceCount()) + computeTime.of(strategy);
      auto [entry, isNew] = known.try_emplace(std::move(types), strategies.size());
      if (isNew)
        strategies.push_back({strategy.operands, strategy.result, seconds, fractionOf(strategy) * ownerReadFraction()});
      else
        strategies[entry->second].seconds = std::min(strategies[entry->second].seconds, seconds);
    }
    return strategies;
  }

private:
  ArrayType operandType(size_t index) const { return typeOf(op->getOperand(index)); }

  void compare(std::vector<FactorAxes> listed) {
    std::vector<StrategyEntry> suggested = options.of(std::move(listed));
    compare(suggested);
  }

  void compare(MutableArrayRef<StrategyEntry> listed) {
    assignments += static_cast<int64_t>(listed.size());
    // A strategy with a lower bound on its time.
    struct Bounded {
      const StrategyEntry *option;
      double leastSeconds = 0;
    };
    // A lower bound rejects most strategies without a reshard plan, and many without types.
    double bound = best ? best->price.seconds : std::numeric_limits<double>::infinity();
    std::vector<Bounded> bounded;
    for (StrategyEntry &option : listed)
      if (!(option.leastComputeSeconds > bound * (1 + Price::kAlike)) && options.tryAssign(option))
        bounded.push_back({&option, leastSeconds(option)});
    if (bounded.empty())
      return;
    // The price of the strategy with the least lower bound is a bound for the others.
    Bounded &first =
        *llvm::min_element(bounded, [](const Bounded &a, const Bounded &b) { return a.leastSeconds < b.leastSeconds; });
    std::optional<Price> ofFirst;
    if (!(first.leastSeconds > bound * (1 + Price::kAlike))) {
      ofFirst = getPrice(*first.option, std::numeric_limits<double>::infinity());
      bound = std::min(bound, ofFirst->seconds);
    }
    for (Bounded &each : bounded) {
      if (best && planner.getExplored() - exploredBefore > kMostExplored)
        return;
      double limit = bound * (1 + Price::kAlike);
      std::optional<Price> price = &each == &first              ? ofFirst
                                   : each.leastSeconds <= limit ? getPrice(*each.option, limit)
                                                                : std::nullopt;
      if (!price)
        continue;
      bound = std::min(bound, price->seconds);
      if (best && !price->isBetterThan(best->price))
        continue;
      best = each.option->strategy;
      best->price = *price;
    }
  }

  /// The cost of a reshard of an operand. Cached: many strategies need the same one, and no copies are added meanwhile.
  const CollectiveCost &getCost(size_t operand, ArrayType wanted) {
    auto [entry, isNew] = costs.try_emplace({operand, wanted});
    if (isNew)
      entry->second =
          available.find(op->getOperand(operand), wanted, op).cost.scaledBy(1 / getRunsPerReshard(operand, wanted));
    return entry->second;
  }
  double getLeastBytes(size_t operand, ArrayType wanted) {
    auto [entry, isNew] = leastBytes.try_emplace({operand, wanted});
    if (isNew)
      entry->second = available.getLeastBytes(op->getOperand(operand), wanted, op) / getRunsPerReshard(operand, wanted);
    return entry->second;
  }
  double getRunsPerReshard(size_t operand, ArrayType wanted) const {
    return spmdc::getRunsPerReshard(op, static_cast<unsigned>(operand), operandType(operand), wanted, mesh);
  }

  /// A lower bound on the time of the strategy.
  double leastSeconds(const StrategyEntry &option) {
    const Strategy &strategy = option.strategy;
    CollectiveCost cost{.linkBytes = getLeastResultBytes(strategy)};
    for (size_t i = 0; i < strategy.operands.size(); ++i)
      cost.linkBytes += getLeastBytes(i, strategy.operands[i]);
    return model.seconds(cost, mesh.deviceCount()) + option.computeSeconds;
  }

  /// A lower bound on the bytes of the reshard of the result.
  double getLeastResultBytes(const Strategy &option) {
    return planner.getLeastBytes(option.result, result) * fractionOf(option) * ownerReadFraction();
  }

  /// The fraction of the bytes of an all_reduce that an owner read sends instead (OwnerRead.h), as a lower bound.
  double ownerReadFraction() { return isa<TakeOp, DynamicSliceOp>(op.getOperation()) ? 0.5 : 1; }

  double fractionOf(const Strategy &option) {
    if (option.result.getShardingOrOpen().getUnreduced().empty())
      return 1;
    auto [entry, isNew] = fractions.try_emplace(option.result);
    if (isNew)
      entry->second = reductionDiscount.of(option.result, sharersAxes);
    return entry->second;
  }

  /// Nothing if the price exceeds `bound` seconds.
  std::optional<Price> getPrice(const StrategyEntry &option, double bound) {
    const Strategy &strategy = option.strategy;
    // Replaces the lower bounds by prices, one after the other, until the sum exceeds `bound`.
    double seconds = leastSeconds(option);
    auto know = [&](double leastBytes, const CollectiveCost &cost) {
      seconds += model.seconds(cost, mesh.deviceCount()) - model.seconds({.linkBytes = leastBytes}, mesh.deviceCount());
      return seconds <= bound;
    };
    std::optional<OwnerRead> read = OwnerRead::find(planner, op, strategy.operands, strategy.result, result);
    CollectiveCost cost =
        (read ? read->cost : planner.plan(strategy.result, result).cost).scaledBy(fractionOf(strategy));
    if (!know(getLeastResultBytes(strategy), cost))
      return std::nullopt;
    for (size_t i = 0; i < strategy.operands.size(); ++i) {
      double least = getLeastBytes(i, strategy.operands[i]);
      CollectiveCost ofOperand = getCost(i, strategy.operands[i]);
      cost = cost + ofOperand;
      if (!know(least, ofOperand))
        return std::nullopt;
    }
    cost = cost + getCombiningCost(strategy);
    return model.price(cost, mesh.deviceCount(), option.computeSeconds);
  }

  /// The cost of reductions other than sums, and of combining the devices' results.
  CollectiveCost getCombiningCost(const Strategy &option) {
    CollectiveCost cost;
    int64_t devices = mesh.deviceCount();
    if (op.getReductionKind() != ReductionKind::sum && !option.reduced.empty()) {
      auto group = static_cast<double>(sizeOf(mesh, option.reduced));
      ArrayType partial = combinesElements(op) ? withPartialSums(op, option.result) : option.result;
      auto bytes = static_cast<double>(partial.getLocalBytes(mesh));
      double sent = 2 * (group - 1) * (static_cast<double>(devices) / group) * bytes;
      cost = cost + model.costOf("all_reduce", namesOf(option.reduced), sent, bytes);
    }
    for (size_t f = 0; f < rule.factors.size(); ++f) {
      const AxisRefs &axes = option.axes[f];
      if (rule.factors[f].kind != FactorKind::Combined || axes.empty())
        continue;
      double combined = op.getCombiningBytes(sizeOf(mesh, axes), option.result.getLocal(meshAttr));
      if (combined > 0)
        cost = cost + model.costOf("all_gather", namesOf(axes), combined * static_cast<double>(devices), combined);
    }
    return cost;
  }

  /// The limit of intermediate shardings that reshard plans explore to price one operation. Meshes of two or three axes
  /// stay far below it; beyond it, later assignments are not tried (the suggested ones come first).
  static constexpr int64_t kMostExplored = 20000;

  const spmd::MeshShape &mesh;
  const CostModel &model;
  const MeshAttr meshAttr;
  ReshardPlanner &planner;
  const int64_t exploredBefore = planner.getExplored();
  AvailableShardings &available;
  WindowsOf windowsOf;
  ShardingRuleOpInterface op;
  const ShardingRule &rule;
  ArrayType result;
  const ReductionDiscount &reductionDiscount;
  std::vector<AxisRefs> sharersAxes;
  const ComputeTime computeTime;
  StrategyTable options;
  int64_t assignments = 0;
  std::optional<Strategy> best;
  llvm::DenseMap<std::pair<size_t, Type>, CollectiveCost> costs;
  llvm::DenseMap<std::pair<size_t, Type>, double> leastBytes;
  llvm::DenseMap<Type, double> fractions; ///< By type of an unreduced result.
};

} // namespace

ReshardOp getOwnReshard(Value value) {
  auto reshard = value.getDefiningOp<ReshardOp>();
  bool isOwn =
      reshard && reshard->hasOneUse() && reshard.getOperand().getType().getShardingOrOpen().getUnreduced().empty();
  return isOwn ? reshard : ReshardOp();
}

Strategy chooseStrategy(ReshardPlanner &planner, AvailableShardings &available, WindowsOf windowsOf,
                        ShardingRuleOpInterface op, const OperationRule &operationRule) {
  return StrategySearch(planner, available, windowsOf, op, operationRule).run();
}

Price priceWithCurrentShardings(ReshardPlanner &planner, RunCounts &runs, ArrayRef<Operation *> ops) {
  Price sum;
  for (Operation *op : ops) {
    Price once = chooseStrategy(planner, cast<ShardingRuleOpInterface>(op)).price;
    auto count = static_cast<double>(runs.count(op));
    sum += once * count;
  }
  return sum;
}

std::optional<std::vector<SolverStrategy>> listSolverStrategies(ReshardPlanner &planner, ShardingRuleOpInterface op,
                                                                const OperationRule &operationRule, size_t most) {
  AvailableShardings none(planner, /*longestChain=*/0);
  return StrategySearch(planner, none, [](Operation *) { return nullptr; }, op, operationRule).listStrategies(most);
}

} // namespace spmdc
