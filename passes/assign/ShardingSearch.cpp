//===- ShardingSearch.cpp - local search for better shardings ----------------===//

#include "passes/assign/ShardingSearch.h"
#include "ir/spmd/DebugTrace.h"
#include "passes/assign/ExactSolver.h"
#include "passes/partition/Partitioning.h"
#include "passes/strategy/ComputeTime.h"

#include "llvm/Support/FormatVariadic.h"

#include <map>

using namespace mlir;

namespace spmdc {
namespace {

DebugTrace trace("choose-shardings");

/// The numbers of operations through which a change is carried.
constexpr unsigned kRadii[] = {0, 1, 2, 5, 16};
/// The most changes that are carried through entire layers, how far, and the part of the effort for them at first.
constexpr size_t kMaxFarStarts = 4;
constexpr unsigned kFarRadius = 64;
constexpr double kFarShare = 1.0 / 3;
/// The part of a search's effort that `reshardOperands` may use.
constexpr double kOperandsShare = 1.0 / 6;
/// A change that may send more must save this part of the total time; for a result of the exact solver, it is also the
/// part by which the bytes may grow.
constexpr double kWorthMoreBytes = 0.25;
/// The factors by which the exact solver multiplies the prices of reshards.
constexpr double kWeights[] = {1, 4, 16};
/// A result of the solver is partitioned on trial up to this multiple of the bytes, because operations share exchanges
/// after partitioning.
constexpr double kMayShare = 2;
/// The same for the time, if the result sends less.
constexpr double kMayCostLess = 1.5;

/// Whether two changes of all variables give them the same shardings.
bool isSame(const ShardingChange &one, const ShardingChange &other) {
  return llvm::all_of(one, [&](auto &entry) { return other.lookup(entry.first) == entry.second; });
}

/// Whether a gain is more than a rounding error.
bool helps(const Price &gain) { return gain.linkBytes >= 1 && gain.seconds > 1e-9; }

} // namespace

/// Traces a change that was tried for an operation that sends, and what it saves.
void ShardingSearch::traceTried(Operation *op, const ShardingChange &change, const Price &gain) const {
  if (!trace.isOn() || change.empty())
    return;
  auto [variable, sharding] = change.front();
  ArrayType now = typeOf(graph.getValues(variable).front());
  trace.note(op, "tried ", now.withSharding(sharding), " instead of ", now, ", of ", change.size(), " arrays: saves ",
             asTime(gain.seconds), " and ", asCount(gain.linkBytes), " bytes");
}

void ShardingSearch::run() {
  DebugTrace::Pause others(&trace); // The windows and partitions of shardings that are only tried.
  for (Operation *op : graph.getOps())
    before.emplace_back(op, llvm::to_vector(op->getResultTypes()));
  sentBefore = listSending();
  for (Operation *op : graph.getOps())
    avoidShardedSlices(op);
  const ShardingChange propagated = graph.getState();
  search(/*goesFar=*/false);
  Price least = graph.priceWithSharedReshards();
  ShardingChange best = graph.getState();
  for (bool mayHoldMore : {false, true}) {
    if (least.linkBytes == 0)
      break;
    graph.apply(propagated);
    graph.setMaxHeldBytes(mayHoldMore ? graph.getLargestShard() : 0);
    search(/*goesFar=*/true);
    graph.setMaxHeldBytes(0);
    Price price = graph.priceWithSharedReshards();
    bool isWorthMore = price.seconds < (1 - Price::kAlike) * least.seconds && price.linkBytes <= least.linkBytes;
    if (mayHoldMore ? isWorthMore : price.isBetterThan(least)) {
      least = price;
      best = graph.getState();
    }
  }
  graph.apply(best);
  if (least.linkBytes == 0)
    return;
  reshardOperands();
  if (graph.priceWithSharedReshards().isBetterThan(least))
    best = graph.getState();
  findTogether(propagated, best);
  graph.apply(best);
}

/// Runs the exact solver from the propagated shardings, with different weights of reshards, since the least time alone
/// would send more. A result becomes `best` if it sends less or is much faster, after partitioning on trial.
void ShardingSearch::findTogether(const ShardingChange &propagated, ShardingChange &best) {
  graph.apply(best);
  const Price least = graph.priceWithSharedReshards();
  graph.apply(propagated);
  ExactSolver elimination(graph, planner);
  if (!elimination.build())
    return;
  std::optional<Price> ofBest;
  auto consider = [&](const ShardingChange &shardings) {
    graph.apply(shardings);
    Price price = graph.priceWithSharedReshards();
    // The prices before partitioning are only estimates: operations that move elements may share exchanges.
    double mostSeconds = (price.linkBytes < least.linkBytes ? kMayCostLess : 1 + Price::kAlike) * least.seconds;
    if (price.seconds > mostSeconds || price.linkBytes > kMayShare * least.linkBytes)
      return false;
    auto partition = [&] { return priceOfPartitioned(func, planner.getMesh(), planner.getModel(), trials); };
    std::optional<Price> partitioned = partition();
    if (!ofBest) {
      graph.apply(best);
      ofBest = partition();
    }
    if (!partitioned || !ofBest)
      return false;
    // A little less time alone is not enough: one all_reduce stays one.
    bool isLess =
        partitioned->isBetterThan(*ofBest) && partitioned->linkBytes < (1 - Price::kAlike) * ofBest->linkBytes;
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
      if (llvm::none_of(known, [&](const ShardingChange &other) { return isSame(other, outcome.shardings); })) {
        known.push_back(outcome.shardings);
        isFound |= consider(outcome.shardings);
      }
    }
  if (!isFound)
    return;
  graph.apply(best);
  search(/*goesFar=*/false);
  if (ShardingChange further = graph.getState(); !isSame(further, best))
    consider(further);
}

void ShardingSearch::emitRemarks() {
  if (bound) {
    double longer = graph.priceAll().seconds / *bound - 1;
    auto remark = emitRemark(func.getLoc()) << "with operations priced one by one, ";
    if (longer < 0.0005)
      remark << "no other shardings take less time";
    else
      remark << "the best shardings take less time by at most "
             << llvm::formatv("{0:f1} %", 100 * longer / (1 + longer)).str();
  }
  llvm::SmallPtrSet<Operation *, 16> sending(sentBefore.begin(), sentBefore.end());
  for (Operation *op : listSending())
    sending.insert(op);
  for (auto &[op, types] : before)
    for (auto [result, type] : llvm::zip_equal(op->getResults(), types))
      if (result.getType() != type && sending.contains(op))
        emitRemark(result.getLoc()) << "becomes " << cast<ArrayType>(result.getType()).str() << " instead of "
                                    << cast<ArrayType>(type).str() << ", so that less is sent";
}

/// Applies changes until none helps any more, since one change may make another useful. When no single change helps,
/// tries changes that help only together with others.
void ShardingSearch::search(bool goesFar) {
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
                 llvm::any_of(sending, [&](Operation *op) { return improveTogether(op); });
  }
}

/// Allows strategies whose operands exceed the memory limit of their value, and are resharded for one operation only.
/// The searches before do not, because such reshards would keep them from results that send less.
void ShardingSearch::reshardOperands() {
  startingChanges.setReshardsOperands(true);
  limit = graph.getWork() + kOperandsShare * effort;
  for (bool hasChanged = true; hasChanged && !isSpent();) {
    auto sending = listSending();
    hasChanged = llvm::any_of(sending, [&](Operation *op) { return improveFar(op, limit); }) ||
                 llvm::any_of(sending, [&](Operation *op) { return improve(op).has_value(); });
  }
  startingChanges.setReshardsOperands(false);
}

/// For an operation that slices an array in a loop: shards another dimension than the sliced one if the program becomes
/// much faster. Otherwise, if the array is a carry, shards no dimension over these axes, if the iterations become so
/// much faster that it is worth the memory.
void ShardingSearch::avoidShardedSlices(Operation *op) {
  std::vector<ShardingChange> changes = startingChanges.listOtherDimChanges(op);
  std::optional<ShardingChange> replicatedChange = startingChanges.findReplicatedChange(op);
  if (changes.empty() && !replicatedChange)
    return;
  double worth = kWorthMoreBytes * graph.priceAll().seconds;
  for (ShardingChange &change : changes) {
    graph.follow(change, kFarRadius, /*isFar=*/true);
    if (getGain(change).seconds > worth)
      return make(change, nullptr);
  }
  double saving = graph.price(op).seconds * (1 - 1 / kWorthHolding);
  if (replicatedChange && !savesMemory(op) && getGain(*replicatedChange).seconds > std::max(worth, saving))
    make(*replicatedChange, nullptr);
}

/// The operations that send, those that send most first.
SmallVector<Operation *> ShardingSearch::listSending() {
  std::multimap<double, Operation *, std::greater<>> sending;
  for (Operation *op : graph.getOps())
    if (double bytes = graph.price(op).linkBytes; bytes > 0)
      sending.emplace(bytes, op);
  return llvm::to_vector(llvm::make_second_range(sending));
}

/// Applies the first change that helps, with the radius that helps most, and returns its gain; none if none helps.
std::optional<Price> ShardingSearch::improve(Operation *op, std::vector<ShardingChange> *undos) {
  for (const ShardingChange &start : startingChanges.list(op, limit)) {
    std::optional<ShardingChange> best;
    Price bestGain;
    size_t size = 0;
    for (unsigned radius : kRadii) {
      ShardingChange change = start;
      graph.follow(change, radius);
      if (change.size() == size || isSpent())
        break;
      size = change.size();
      Price gain = getGain(change);
      traceTried(op, change, gain);
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

/// Carries changes through all operations that share the dimensions, and applies the one that helps most.
bool ShardingSearch::improveFar(Operation *op, double farLimit) {
  std::optional<ShardingChange> best;
  Price bestGain;
  std::vector<ShardingChange> starts = startingChanges.list(op, limit);
  starts.resize(std::min(starts.size(), kMaxFarStarts));
  for (ShardingChange &change : starts) {
    if (graph.getWork() >= farLimit)
      break;
    graph.follow(change, kFarRadius, /*isFar=*/true);
    Price gain = getGain(change);
    traceTried(op, change, gain);
    if (helps(gain) && (!best || gain.seconds > bestGain.seconds)) {
      best = std::move(change);
      bestGain = gain;
    }
  }
  if (best)
    make(*best, nullptr);
  return best.has_value();
}

/// Applies a change that helps together with improvements of the operations that it touches.
bool ShardingSearch::improveTogether(Operation *op) {
  for (const ShardingChange &start : startingChanges.list(op, limit, /*mayCostMore=*/true)) {
    for (unsigned radius : {kRadii[0], kRadii[std::size(kRadii) - 1]}) {
      if (isSpent())
        return false;
      ShardingChange change = start;
      graph.follow(change, radius);
      Price total = getGain(change);
      std::vector<ShardingChange> undos;
      make(change, &undos);
      for (Operation *touched : graph.getTouched(change))
        while (!isSpent() && touched != op && graph.price(touched).linkBytes > 0) {
          std::optional<Price> gain = improve(touched, &undos);
          if (!gain)
            break;
          total += *gain;
        }
      if (helps(total))
        return true;
      for (const ShardingChange &undo : llvm::reverse(undos))
        graph.apply(undo);
    }
  }
  return false;
}

void ShardingSearch::make(const ShardingChange &change, std::vector<ShardingChange> *undos) {
  ShardingChange undo = graph.apply(change);
  if (undos)
    undos->push_back(std::move(undo));
}

Price ShardingSearch::getGain(const ShardingChange &change) {
  llvm::SetVector<Operation *> touched = graph.getTouched(change);
  Price gain;
  for (double sign : {1.0, -1.0}) {
    ShardingChange undo;
    if (sign < 0)
      undo = graph.apply(change);
    for (Operation *op : touched) {
      Price price = graph.price(op);
      gain += price * sign;
    }
    graph.apply(undo);
  }
  return gain;
}

} // namespace spmdc
