//===- ReshardSearch.cpp - Dijkstra's algorithm over shardings ------------===//

#include "passes/reshard/ReshardSearch.h"

#include "passes/reshard/AtomSteps.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <queue>
#include <unordered_map>

namespace spmdc {
namespace {

/// Beyond this many explored shardings the search lists no more gathers, slices and all_to_alls, so it ends in an
/// exchange (and a reduction before it). It is far above what meshes of four axes and arrays of four dimensions need.
constexpr size_t kMaxExplored = 20000;

/// With at most this many atoms and many devices, there are few paths, and exchanges are priced after all other moves.
constexpr int64_t kFewAtoms = 4;

struct Visit;
/// A sharding and the path to it, at a stable address.
using Node = std::pair<const ReshardState, Visit>;

struct Visit {
  CollectiveCost cost{.linkBytes = std::numeric_limits<double>::infinity()};
  const Node *previous = nullptr;
  AtomStep move;
  bool isDone = false;
  double missing = 0; ///< A lower bound on the bytes that must still be sent.
};

class Search {
public:
  /// A plan may also shard over the atoms of `spread`, which neither side names.
  Search(const ReshardSpace &space, const CostModel &model, double partialScale, const ReshardState &start,
         const ReshardState &goal, AtomList spread = {})
      : space(space), moves(space, model, partialScale, std::move(spread)), partialScale(partialScale), start(start),
        goal(goal), sizesOfGoal(space.sizesOf(goal)), leastWeight(model.leastWeight(space.mesh)) {}

  /// The cheapest plan; none if the search stopped before it reached the goal.
  std::optional<ReshardPlan> run() {
    Node &first = add(start);
    first.second.cost = {.peakBytes = localBytes(space.sizesOf(start), !start.getUnreduced().empty())};
    open.push({first.second.cost, &first});
    while (!open.empty()) {
      Node &node = *open.top().node;
      open.pop();
      auto &[state, visit] = node;
      if (visit.isDone)
        continue;
      visit.isDone = true;
      if (state == goal)
        break;
      const ReshardSpace::Sizes sizes = space.sizesOf(state);
      const Step step{node, space.isFaithful(state), sizes, localBytes(sizes, !state.getUnreduced().empty())};
      bool isWide = visits.size() < kMaxExplored;
      moves.visit(state, goal, isWide, [&](const AtomStep &move) { consider(step, move); });
      if (mayExchange(node))
        considerExchange(node);
    }
    for (Node *node : pricedLate)
      considerExchange(*node);
    return end ? std::make_optional(trace()) : std::nullopt;
  }

private:
  Node &add(ReshardState state) {
    Node &node = *visits.try_emplace(std::move(state)).first;
    if (node.first == goal)
      end = &node;
    return node;
  }

  double localBytes(const ReshardSpace::Sizes &sizes, bool isPartial) const {
    return space.localBytes(sizes) * (isPartial ? partialScale : 1);
  }

  /// Whether to price an exchange from this node now: only at the start and behind reductions, because an exchange
  /// replaces all other moves, and pricing it takes a look at every device. Adds nodes that are priced after the other
  /// moves to `pricedLate`.
  bool mayExchange(Node &node) {
    auto &[state, visit] = node;
    if (!(state == start || visit.move.isReduction()) || !state.getUnreduced().empty())
      return false;
    if (!goal.getUnreduced().empty())
      return true;
    if (space.deviceCount <= ReshardSpace::kManyDevices || space.atoms.count() > kFewAtoms)
      return true;
    pricedLate.push_back(&node);
    return false;
  }

  /// Whether the cost is below that of every known path to the goal.
  bool isPromising(const CollectiveCost &cost) const { return !end || cost < end->second.cost; }

  /// The node that is expanded, with its properties.
  struct Step {
    const Node &from;
    bool isFaithful;
    const ReshardSpace::Sizes &sizes;
    double heldBytes;
  };

  void consider(const Step &step, const AtomStep &move) {
    const auto &[before, visit] = step.from;
    // The sizes come first, because they need neither a new state nor a look at every device.
    ReshardSpace::Sizes sizes = step.sizes;
    if (move.from >= 0)
      sizes[move.from] = space.sizeOf(move.from, before.getDim(move.from).drop_back(move.atoms.size()));
    if (move.to >= 0)
      sizes[move.to] = space.shardFurther(sizes[move.to], move.atoms);
    size_t reduced = move.isReduction() ? move.atoms.size() : 0;
    bool isPartial = before.getUnreduced().size() != reduced || move.makesSums();
    CollectiveCost total = visit.cost + moves.price(move, step.heldBytes, localBytes(sizes, isPartial));
    if (!isPromising(total))
      return;
    bool isReduced = goal.getUnreduced().empty() && !isPartial;
    double least = isReduced ? std::max(0.0, space.lowerBoundBytes(sizes, sizesOfGoal)) : 0;
    if (!isPromising(total + CollectiveCost{.linkBytes = leastWeight * least}))
      return;
    ReshardState after = move.apply(before);
    // A move without dimensions (all_reduce) does not change the shards.
    bool keepsShards = move.from < 0 && move.to < 0;
    if (keepsShards || (step.isFaithful && space.isFaithful(after)))
      arrive(step.from, move, std::move(after), total);
  }

  void arrive(const Node &from, const AtomStep &move, ReshardState after, const CollectiveCost &total) {
    auto known = visits.find(after);
    Node *to = known == visits.end() ? nullptr : &*known;
    if (to && !(total < to->second.cost))
      return;
    if (!to) {
      bool isReduced = after.getUnreduced().empty() && goal.getUnreduced().empty();
      double missing = isReduced ? space.missingBytes(after, goal) : 0;
      to = &add(std::move(after));
      to->second.missing = missing;
    }
    // The bytes that devices still lack must not make this path as expensive as a known one.
    if (to != end && !isPromising(total + CollectiveCost{.linkBytes = leastWeight * to->second.missing}))
      return;
    to->second.cost = total;
    to->second.previous = &from;
    to->second.move = move;
    open.push({total, to});
  }

  void considerExchange(const Node &node) {
    const auto &[state, visit] = node;
    // A lower bound first, because the exact bytes take a look at every device.
    CollectiveCost least{.linkBytes = leastWeight * space.lowerBoundBytes(state, goal), .exchanges = 1, .steps = 1};
    if (!isPromising(visit.cost + least))
      return;
    ReshardState after = goal;
    after.removeUnreduced(AtomList(goal.getUnreduced()));
    AtomStep exchange = moves.exchange(state, after);
    CollectiveCost total = visit.cost + moves.priceExchange(exchange, state, after);
    if (isPromising(total))
      arrive(node, exchange, std::move(after), total);
  }

  ReshardPlan trace() {
    ReshardPlan plan;
    plan.explored = static_cast<int64_t>(visits.size());
    plan.cost = end->second.cost;
    for (const Node *node = end; node->first != start; node = node->second.previous) {
      const auto &[kind, atoms, from, to] = node->second.move;
      plan.steps.push_back({kind, space.atoms.merge(atoms), to >= 0 ? to : from,
                            kind == ReshardStep::Kind::AllToAll ? from : -1, space.toSharding(node->first)});
    }
    std::reverse(plan.steps.begin(), plan.steps.end());
    return plan;
  }

  const ReshardSpace &space;
  AtomSteps moves;
  const double partialScale;
  const ReshardState start, goal;
  const ReshardSpace::Sizes sizesOfGoal;
  const double leastWeight;

  struct Entry {
    CollectiveCost cost;
    Node *node;
  };
  struct Later {
    bool operator()(const Entry &x, const Entry &y) const {
      if (x.cost < y.cost || y.cost < x.cost)
        return y.cost < x.cost;
      return y.node->first < x.node->first;
    }
  };
  std::unordered_map<ReshardState, Visit, ReshardState::Hash> visits; ///< Not iterated.
  Node *end = nullptr;                                                ///< The goal, once a path to it is known.
  std::priority_queue<Entry, std::vector<Entry>, Later> open;
  std::vector<Node *> pricedLate;
};

/// The atoms along which a transfer may be spread: those that neither side names and that are faster than the slowest
/// atom that a side names. Devices along them hold the same data, so each sends a part of it along slow links, and they
/// share the received parts. Only the largest three are used, because each atom multiplies the number of paths.
AtomList findSpread(const ReshardSpace &space, const CostModel &model, const ReshardState &start,
                    const ReshardState &goal) {
  constexpr size_t kMost = 3;
  auto rateOf = [&](Atom atom) { return model.ratesOf({space.atoms.merge(atom).front().name}).bytesPerSecond; };
  AtomList idle;
  double slowest = std::numeric_limits<double>::infinity();
  for (Atom atom = 0; atom < space.atoms.count(); ++atom)
    if (start.isUsed(atom) || goal.isUsed(atom))
      slowest = std::min(slowest, rateOf(atom));
    else if (space.atoms.sizeOf(atom) > 1)
      idle.push_back(atom);
  llvm::erase_if(idle, [&](Atom atom) { return rateOf(atom) <= slowest; });
  llvm::sort(idle, [&](Atom x, Atom y) {
    return std::pair(-space.atoms.sizeOf(x), x) < std::pair(-space.atoms.sizeOf(y), y);
  });
  idle.truncate(std::min(idle.size(), kMost));
  return idle;
}

} // namespace

ReshardPlan searchReshard(const ReshardSpace &space, const CostModel &model, double partialScale,
                          const spmd::Sharding &source, const spmd::Sharding &target, bool spreads) {
  auto planDirectly = [&] { return AtomSteps(space, model, partialScale).planDirectly(source, target); };
  if (!space.atoms.exist())
    return planDirectly();
  ReshardState start = ReshardState::of(space.atoms, source), goal = ReshardState::of(space.atoms, target);
  if (!space.isFaithful(start) || !space.isFaithful(goal))
    return planDirectly();
  auto secondsOf = [&](const ReshardPlan &candidate) { return model.seconds(candidate.cost, space.deviceCount); };
  std::optional<ReshardPlan> plan = Search(space, model, partialScale, start, goal).run();
  if (!plan)
    return planDirectly();
  if (start == goal)
    return *plan;
  // A reduce_scatter of wide partial sums and an all_gather of the rounded results send a quarter less than an
  // all_reduce, but wait twice: with few bytes one step is faster.
  if (partialScale > 1 && plan->steps.size() > 1 && source.dims == target.dims)
    if (ReshardPlan direct = planDirectly(); secondsOf(direct) < secondsOf(*plan))
      return direct;
  // The search minimizes bytes, so the longer plan may take more time if there are few of them: compare seconds.
  if (AtomList spread = findSpread(space, model, start, goal); spreads && !spread.empty())
    if (std::optional<ReshardPlan> candidate = Search(space, model, partialScale, start, goal, std::move(spread)).run();
        candidate && secondsOf(*candidate) < (1 - Price::kAlike) * secondsOf(*plan))
      return *candidate;
  return *plan;
}

double leastReshardBytes(const ReshardSpace &space, double partialScale, const ReshardState &start,
                         const ReshardState &goal) {
  // If the goal is unreduced over further atoms, devices may already hold the missing elements as partial sums.
  if (!llvm::all_of(goal.getUnreduced(), [&](Atom atom) { return llvm::is_contained(start.getUnreduced(), atom); }))
    return 0;
  return start.getUnreduced().empty() ? std::max(0.0, space.missingBytes(start, goal))
                                      : partialScale * space.lowerBoundReducedBytes(start, goal);
}

} // namespace spmdc
