//===- ReshardSearch.cpp - the cheapest sequence of collectives, by Dijkstra's algorithm -===//

#include "passes/collective/ReshardSearch.h"

#include "passes/collective/ReshardMoves.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <queue>
#include <unordered_map>

namespace spmdc {
namespace {

/// Shardings explored before the search settles for an exchange (and a reduction before it): far above what meshes of
/// four axes and arrays of four dimensions need.
constexpr size_t kMaxExplored = 20000;

/// Where there are so few atoms, and many devices, the ways are few and an exchange is priced only in the end.
constexpr int64_t kFewAtoms = 4;

struct Visit;
/// A sharding with how it was come to, at the place where it stays.
using Node = std::pair<const ReshardState, Visit>;

struct Visit {
  CollectiveCost cost{.linkBytes = std::numeric_limits<double>::infinity()};
  const Node *previous = nullptr;
  ReshardStep::Kind kind = ReshardStep::Kind::AllGather;
  AtomList atoms;
  int64_t dim = -1, concatDim = -1;
  bool isDone = false;
  double missing = 0; ///< Bytes that must still be sent, whatever the way.
};

class Search {
public:
  /// A way may lead over the atoms of `spread`, which neither side names.
  Search(const ReshardSpace &space, const CostModel &model, const ReshardState &start, const ReshardState &goal,
         AtomList spread = {})
      : space(space), moves(space, model, std::move(spread)), start(start), goal(goal),
        leastWeight(model.leastWeight(space.mesh)) {}

  /// Nothing where the search was left before it came to the goal.
  std::optional<ReshardPlan> run() {
    Node &first = add(start);
    first.second.cost = {.peakBytes = space.localBytes(start)};
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
      bool isFaithful = space.isFaithful(state);
      double heldBytes = space.localBytes(state);
      moves.visit(state, goal, mayExchange(node), visits.size() < kMaxExplored,
                  [&](ReshardMove move) { consider(node, heldBytes, isFaithful, std::move(move)); });
    }
    for (Node *node : pricedLate)
      considerExchange(*node);
    return end ? std::make_optional(trace()) : std::nullopt;
  }

private:
  Node &add(const ReshardState &state) {
    Node &node = *visits.try_emplace(state).first;
    if (state == goal)
      end = &node;
    return node;
  }

  /// An exchange is worth its price (it looks at every device) only where the way begins, and behind reductions: what
  /// it replaces are all other moves.
  bool mayExchange(Node &node) {
    auto &[state, visit] = node;
    bool isReduced = visit.kind == ReshardStep::Kind::AllReduce || visit.kind == ReshardStep::Kind::ReduceScatter;
    if (!(state == start || isReduced) || !state.getUnreduced().empty())
      return false;
    if (!goal.getUnreduced().empty())
      return true;
    if (space.mesh.deviceCount() <= ReshardSpace::kManyDevices || space.atoms.count() > kFewAtoms)
      return true;
    pricedLate.push_back(&node);
    return false;
  }

  /// Whether the cost is below that of every known way to the goal.
  bool isPromising(const CollectiveCost &cost) const { return !end || cost < end->second.cost; }

  void consider(const Node &from, double heldBytes, bool isFaithful, ReshardMove move) {
    auto known = visits.find(move.after);
    Node *to = known == visits.end() ? nullptr : &*known;
    if (to && to->second.isDone)
      return;
    CollectiveCost total = from.second.cost + moves.price(move, from.first, heldBytes);
    if (!isPromising(total) || (to && !(total < to->second.cost)))
      return;
    // An exchange goes by the shardings themselves, and a reduction leaves the pieces as they are.
    bool keepsPieces = move.kind == ReshardStep::Kind::Exchange || move.after.hasSameDims(from.first);
    if (!keepsPieces && !(isFaithful && space.isFaithful(move.after)))
      return;
    bool isGoal = move.after == goal;
    if (!to) {
      bool isWhole = move.after.getUnreduced().empty() && goal.getUnreduced().empty();
      // By sizes alone first: that needs no look at the devices.
      double least = isWhole && !isGoal ? std::max(0.0, space.leastBytes(move.after, goal)) : 0;
      if (!isPromising(total + CollectiveCost{.linkBytes = leastWeight * least}))
        return;
      double missing = isWhole ? space.missingBytes(move.after, goal) : 0;
      to = &add(move.after);
      to->second.missing = missing;
    }
    // Nor may it be so far from the goal that what devices still lack makes the way as long as a known one.
    if (!isGoal && !isPromising(total + CollectiveCost{.linkBytes = leastWeight * to->second.missing}))
      return;
    reach(*to, from, total, move);
    open.push({total, to});
  }

  static void reach(Node &node, const Node &from, const CollectiveCost &cost, const ReshardMove &move) {
    Visit &visit = node.second;
    visit.cost = cost;
    visit.previous = &from;
    visit.kind = move.kind;
    visit.atoms = move.atoms;
    visit.dim = move.dim;
    visit.concatDim = move.concatDim;
  }

  void considerExchange(const Node &node) {
    const auto &[state, visit] = node;
    CollectiveCost least{.linkBytes = leastWeight * space.leastBytes(state, goal), .exchanges = 1, .steps = 1};
    if (!isPromising(visit.cost + least))
      return;
    ReshardMove exchange = moves.exchange(state, goal);
    CollectiveCost total = visit.cost + moves.price(exchange, state, space.localBytes(state));
    if (isPromising(total))
      reach(add(goal), node, total, exchange);
  }

  ReshardPlan trace() {
    ReshardPlan plan;
    plan.explored = static_cast<int64_t>(visits.size());
    plan.cost = end->second.cost;
    for (const Node *node = end; node->first != start; node = node->second.previous) {
      const auto &[state, visit] = *node;
      plan.steps.push_back(
          {visit.kind, space.atoms.join(visit.atoms), visit.dim, visit.concatDim, space.toSharding(state)});
    }
    std::reverse(plan.steps.begin(), plan.steps.end());
    return plan;
  }

  const ReshardSpace &space;
  ReshardMoves moves;
  const ReshardState start, goal;
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
  std::unordered_map<ReshardState, Visit, ReshardState::Hash> visits; ///< Only looked up.
  Node *end = nullptr;                                                ///< The goal, once a way there is known.
  std::priority_queue<Entry, std::vector<Entry>, Later> open;
  std::vector<Node *> pricedLate;
};

/// Devices that hold the same may each send a part of it along slow links, and share what comes along faster ones: the
/// atoms that neither side names and that are faster than one of those over which devices differ. The largest ones are
/// enough, and each more makes many more ways.
AtomList findSpread(const ReshardSpace &space, const CostModel &model, const ReshardState &start,
                    const ReshardState &goal) {
  constexpr size_t kMost = 3;
  auto rateOf = [&](Atom atom) { return model.ratesOf({space.atoms.join(atom).front().name}).bytesPerSecond; };
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

ReshardPlan searchReshard(const ReshardSpace &space, const CostModel &model, const spmd::Sharding &source,
                          const spmd::Sharding &target, bool spreads) {
  auto planDirectly = [&] { return ReshardMoves(space, model).planDirectly(source, target); };
  if (!space.atoms.exist())
    return planDirectly();
  ReshardState start = ReshardState::of(space.atoms, source), goal = ReshardState::of(space.atoms, target);
  if (!space.isFaithful(start) || !space.isFaithful(goal))
    return planDirectly();
  auto secondsOf = [&](const ReshardPlan &way) { return model.seconds(way.cost, space.mesh.deviceCount()); };
  std::optional<ReshardPlan> plan = Search(space, model, start, goal).run();
  if (!plan)
    return planDirectly();
  if (start == goal)
    return *plan;
  // Bytes and not seconds lead the search: more steps may take longer for few of them.
  if (AtomList spread = findSpread(space, model, start, goal); spreads && !spread.empty())
    if (std::optional<ReshardPlan> way = Search(space, model, start, goal, std::move(spread)).run();
        way && secondsOf(*way) < (1 - CostModel::kAlike) * secondsOf(*plan))
      return *way;
  return *plan;
}

double leastReshardBytes(const ReshardSpace &space, const ReshardState &start, const ReshardState &goal) {
  // Devices may already have what is missing as partial sums.
  if (!llvm::all_of(goal.getUnreduced(), [&](Atom atom) { return llvm::is_contained(start.getUnreduced(), atom); }))
    return 0;
  return start.getUnreduced().empty() ? std::max(0.0, space.missingBytes(start, goal))
                                      : space.leastReducedBytes(start, goal);
}

} // namespace spmdc
