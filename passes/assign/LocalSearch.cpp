//===- LocalSearch.cpp - shardings with which less is sent -------------===//

#include "passes/assign/LocalSearch.h"
#include "passes/assign/ExactSolver.h"
#include "passes/partition/Partitioning.h"
#include "passes/strategy/ComputeTime.h"

#include "llvm/Support/FormatVariadic.h"

#include <map>

using namespace mlir;

namespace spmdc {
namespace {

/// How far changes are carried.
constexpr unsigned kRadii[] = {0, 1, 2, 5, 16};
/// Changes that are carried through whole layers, how far, and what of the effort may go there first.
constexpr size_t kMaxFarStarts = 4;
constexpr unsigned kFarRadius = 64;
constexpr double kFarShare = 1.0 / 3;
/// Of the effort of a search, what operands are brought with.
constexpr double kBringShare = 1.0 / 6;
/// Of the time of all, what a change has to save that may send more; so much more where all shardings are chosen at
/// once.
constexpr double kWorthMoreBytes = 0.25;
/// How many times what is moved counts, where all shardings are chosen at once.
constexpr double kWeights[] = {1, 4, 16};
/// What is priced to send so many times more may turn out to send less, once what operations share is sent once.
constexpr double kMayShare = 2;
/// The same for times, of what sends less.
constexpr double kMayCostLess = 1.5;

/// Not by the rounding of sums alone.
bool helps(const OperationPrice &gain) { return gain.linkBytes >= 1 && gain.seconds > 1e-9; }

} // namespace

void LocalSearch::run() {
  for (Operation *op : graph.getOps())
    before.emplace_back(op, llvm::to_vector(op->getResultTypes()));
  sentBefore = listSending();
  for (Operation *op : graph.getOps())
    cutWhatIsPicked(op);
  const ShardingChange propagated = graph.getState();
  search(/*goesFar=*/false);
  OperationPrice least = graph.priceTogether();
  ShardingChange best = graph.getState();
  for (bool mayHoldMore : {false, true}) {
    if (least.linkBytes == 0)
      break;
    graph.apply(propagated);
    graph.setMostHeld(mayHoldMore ? graph.getLargestPiece() : 0);
    search(/*goesFar=*/true);
    graph.setMostHeld(0);
    OperationPrice price = graph.priceTogether();
    bool isWorthMore = price.seconds < (1 - CostModel::kAlike) * least.seconds && price.linkBytes <= least.linkBytes;
    if (mayHoldMore ? isWorthMore : price.isBetterThan(least)) {
      least = price;
      best = graph.getState();
    }
  }
  graph.apply(best);
  if (least.linkBytes == 0)
    return;
  bringOperands();
  if (graph.priceTogether().isBetterThan(least))
    best = graph.getState();
  findTogether(propagated, best);
  graph.apply(best);
}

/// All at once, from what has been propagated. What is moved counts more the second time and the third, as time alone
/// would send more. What is better than the best so far, and sends less or is faster by far, is kept: as it comes to be
/// partitioned.
void LocalSearch::findTogether(const ShardingChange &propagated, ShardingChange &best) {
  graph.apply(best);
  const OperationPrice least = graph.priceTogether();
  graph.apply(propagated);
  ExactSolver elimination(graph, planner);
  if (!elimination.build())
    return;
  std::optional<OperationPrice> ofBest;
  auto consider = [&](const ShardingChange &shardings) {
    graph.apply(shardings);
    OperationPrice price = graph.priceTogether();
    // Before they are partitioned, operations that move elements are priced one by one, as if more could be shared.
    double mostSeconds = (price.linkBytes < least.linkBytes ? kMayCostLess : 1 + CostModel::kAlike) * least.seconds;
    if (price.seconds > mostSeconds || price.linkBytes > kMayShare * least.linkBytes)
      return false;
    auto partition = [&] { return priceOfPartitioned(func, planner.getMesh(), planner.getModel()); };
    std::optional<OperationPrice> partitioned = partition();
    if (!ofBest) {
      graph.apply(best);
      ofBest = partition();
    }
    if (!partitioned || !ofBest)
      return false;
    // For a little less time alone nothing changes: one all_reduce stays one.
    bool isLess =
        partitioned->isBetterThan(*ofBest) && partitioned->linkBytes < (1 - CostModel::kAlike) * ofBest->linkBytes;
    bool isFaster = partitioned->seconds < (1 - kWorthMoreBytes) * ofBest->seconds &&
                    partitioned->linkBytes <= (1 + kWorthMoreBytes) * ofBest->linkBytes;
    bool isBetter = isLess || isFaster;
    if (isBetter) {
      ofBest = partitioned;
      best = shardings;
    }
    return isBetter;
  };
  std::vector<ShardingChange> known = {best};
  bool isFound = false;
  for (bool mayHoldMore : {false, true})
    for (double weight : kWeights) {
      ExactSolver::Outcome outcome = elimination.solve(weight, mayHoldMore);
      if (weight == 1 && !mayHoldMore)
        bound = outcome.leastSeconds;
      auto isSame = [&](const ShardingChange &other) {
        return llvm::all_of(other, [&](auto &entry) { return outcome.shardings.lookup(entry.first) == entry.second; });
      };
      if (llvm::none_of(known, isSame)) {
        known.push_back(outcome.shardings);
        isFound |= consider(outcome.shardings);
      }
    }
  if (!isFound)
    return;
  graph.apply(best);
  search(/*goesFar=*/false);
  consider(graph.getState());
}

void LocalSearch::emitRemarks() {
  if (bound) {
    double longer = graph.priceAll().seconds / *bound - 1;
    auto remark = emitRemark(func.getLoc()) << "by the prices of operations one by one, ";
    if (longer < 0.0005)
      remark << "no shardings of its values take less time than these";
    else
      remark << "any shardings of its values take less time than these by at most "
             << llvm::formatv("{0:f1} %", 100 * longer / (1 + longer)).str();
  }
  llvm::SmallPtrSet<Operation *, 16> sending(sentBefore.begin(), sentBefore.end());
  for (Operation *op : listSending())
    sending.insert(op);
  for (auto &[op, types] : before)
    for (auto [result, type] : llvm::zip_equal(op->getResults(), types))
      if (result.getType() != type && sending.contains(op))
        emitRemark(result.getLoc()) << "lies as " << cast<ArrayType>(result.getType()).str() << ", not as "
                                    << cast<ArrayType>(type).str() << ", so that less is sent";
}

/// Until no change helps any more: one may make way for another. Where few operations send anything, changes are
/// tried too that help only together with others.
void LocalSearch::search(bool goesFar) {
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

/// Operands that devices may not hold as an operation needs them are brought there for that alone, where this helps.
/// Not in the searches before: bringing what lies elsewhere would keep them from ends that send less.
void LocalSearch::bringOperands() {
  ways.setBringsOperands(true);
  limit = graph.getWork() + kBringShare * effort;
  for (bool hasChanged = true; hasChanged && !isSpent();) {
    auto sending = listSending();
    hasChanged = llvm::any_of(sending, [&](Operation *op) { return improveFar(op, limit); }) ||
                 llvm::any_of(sending, [&](Operation *op) { return improve(op).has_value(); });
  }
  ways.setBringsOperands(false);
}

/// If all is faster by far with another dimension cut than the one along which iterations pick, that is; else, where a
/// carry is picked from and iterations become so much faster that it is worth the memory, none is.
void LocalSearch::cutWhatIsPicked(Operation *op) {
  std::vector<ShardingChange> changes = ways.listUnpicked(op);
  std::optional<ShardingChange> whole = ways.findUnpickedReplicated(op);
  if (changes.empty() && !whole)
    return;
  double worth = kWorthMoreBytes * graph.priceAll().seconds;
  for (ShardingChange &change : changes) {
    graph.follow(change, kFarRadius, /*isFar=*/true);
    if (getGain(change).seconds > worth)
      return make(change, nullptr);
  }
  double saving = graph.price(op).seconds * (1 - 1 / kWorthHolding);
  if (whole && !savesMemory(op) && getGain(*whole).seconds > std::max(worth, saving))
    make(*whole, nullptr);
}

/// What sends most comes first.
SmallVector<Operation *> LocalSearch::listSending() {
  std::multimap<double, Operation *, std::greater<>> sending;
  for (Operation *op : graph.getOps())
    if (double bytes = graph.price(op).linkBytes; bytes > 0)
      sending.emplace(bytes, op);
  return llvm::to_vector(llvm::make_second_range(sending));
}

/// Makes the first change that helps, carried as far as it helps most, and returns what it gains.
std::optional<OperationPrice> LocalSearch::improve(Operation *op, std::vector<ShardingChange> *undos) {
  for (const ShardingChange &start : ways.list(op, limit)) {
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
bool LocalSearch::improveFar(Operation *op, double farLimit) {
  std::optional<ShardingChange> best;
  OperationPrice bestGain;
  std::vector<ShardingChange> starts = ways.list(op, limit);
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
bool LocalSearch::leap(Operation *op) {
  for (const ShardingChange &start : ways.list(op, limit, /*mayCostMore=*/true)) {
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

void LocalSearch::make(const ShardingChange &change, std::vector<ShardingChange> *undos) {
  ShardingChange undo = graph.apply(change);
  if (undos)
    undos->push_back(std::move(undo));
}

OperationPrice LocalSearch::getGain(const ShardingChange &change) {
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

} // namespace spmdc
