//===- ReshardSearch.cpp - the cheapest sequence of collectives, by Dijkstra's algorithm -===//

#include "passes/collective/ReshardSearch.h"

#include "passes/collective/ReshardMoves.h"

#include <algorithm>
#include <limits>
#include <map>
#include <optional>
#include <queue>

namespace spmdc {
namespace {

/// Shardings explored before the search settles for an exchange (and a reduction before it): far above what meshes of
/// four axes and arrays of four dimensions need.
constexpr size_t kMaxExplored = 20000;

/// Where there are so few atoms, and many devices, the ways are few and an exchange is priced only in the end.
constexpr int64_t kFewAtoms = 4;

struct Visit {
  CollectiveCost cost{.linkBytes = std::numeric_limits<double>::infinity()};
  ReshardState previous;
  ReshardMove move;
  bool isDone = false;
  double missing = 0; ///< Bytes that must still be sent, whatever the way.
};

/// Of links along the fastest axis.
double leastWeightOf(const spmd::MeshShape &mesh, const CostModel &model) {
  std::vector<std::string> names;
  for (const spmd::MeshAxis &axis : mesh.axes)
    names.push_back(axis.name);
  return model.leastWeight(names);
}

class Search {
public:
  /// A way may lead over the atoms of `spread`, which neither side names.
  Search(const ReshardSpace &space, const CostModel &model, const ReshardState &start, const ReshardState &goal,
         AtomList spread = {})
      : space(space), moves(space, model, std::move(spread)), start(start), goal(goal),
        leastWeight(leastWeightOf(space.mesh, model)) {}

  /// Nothing where the search was left before it came to the goal.
  std::optional<ReshardPlan> run() {
    visits[start].cost = {.peakBytes = space.localBytes(start)};
    open.push({visits[start].cost, start});
    while (!open.empty()) {
      auto [cost, state] = open.top();
      open.pop();
      Visit &visit = visits[state];
      if (visit.isDone)
        continue;
      visit.isDone = true;
      if (state == goal)
        break;
      bool isFaithful = space.isFaithful(state);
      for (ReshardMove &move : moves.from(state, goal, mayExchange(state, visit), visits.size() < kMaxExplored))
        consider(state, cost, isFaithful, std::move(move));
    }
    for (const ReshardState &state : pricedLate)
      considerExchange(state);
    return visits.contains(goal) ? std::make_optional(trace()) : std::nullopt;
  }

private:
  /// An exchange is worth its price (it looks at every device) only where the way begins, and behind reductions: what
  /// it replaces are all other moves.
  bool mayExchange(const ReshardState &state, const Visit &visit) {
    bool isReduced =
        visit.move.kind == ReshardStep::Kind::AllReduce || visit.move.kind == ReshardStep::Kind::ReduceScatter;
    if (!(state == start || isReduced) || !state.unreduced.empty())
      return false;
    if (!goal.unreduced.empty())
      return true;
    if (space.mesh.deviceCount() <= kManyDevices || space.atoms.count() > kFewAtoms)
      return true;
    pricedLate.push_back(state);
    return false;
  }

  /// Whether the cost is below that of every known way to the goal.
  bool isPromising(const CollectiveCost &cost) const {
    auto known = visits.find(goal);
    return known == visits.end() || cost < known->second.cost;
  }

  void consider(const ReshardState &state, const CollectiveCost &cost, bool isFaithful, ReshardMove move) {
    CollectiveCost total = cost + move.cost;
    if (!isPromising(total))
      return;
    auto entry = visits.find(move.after);
    if (entry != visits.end() && !(total < entry->second.cost))
      return;
    // An exchange goes by the shardings themselves, and a reduction leaves the pieces as they are.
    bool keepsPieces = move.kind == ReshardStep::Kind::Exchange || move.after.dims == state.dims;
    if (!keepsPieces && !(isFaithful && space.isFaithful(move.after)))
      return;
    bool isGoal = move.after == goal;
    if (entry == visits.end()) {
      bool isWhole = move.after.unreduced.empty() && goal.unreduced.empty();
      // By sizes alone first: that needs no look at the devices.
      double least = isWhole && !isGoal ? std::max(0.0, space.leastBytes(move.after, goal)) : 0;
      if (!isPromising(total + CollectiveCost{.linkBytes = leastWeight * least}))
        return;
      double missing = isWhole ? space.missingBytes(move.after, goal) : 0;
      entry = visits.try_emplace(move.after).first;
      entry->second.missing = missing;
    }
    // Nor may it be so far from the goal that what devices still lack makes the way as long as a known one.
    if (!isGoal && !isPromising(total + CollectiveCost{.linkBytes = leastWeight * entry->second.missing}))
      return;
    entry->second.cost = total;
    entry->second.previous = state;
    open.push({total, move.after});
    entry->second.move = std::move(move);
  }

  void considerExchange(const ReshardState &state) {
    CollectiveCost before = visits[state].cost;
    CollectiveCost least{.linkBytes = leastWeight * space.leastBytes(state, goal), .exchanges = 1, .steps = 1};
    if (!isPromising(before + least))
      return;
    ReshardMove exchange = moves.exchange(state, goal);
    CollectiveCost total = before + exchange.cost;
    if (isPromising(total))
      visits[goal] = {total, state, std::move(exchange)};
  }

  ReshardPlan trace() {
    ReshardPlan plan;
    plan.explored = static_cast<int64_t>(visits.size());
    plan.cost = visits[goal].cost;
    for (ReshardState state = goal; state != start; state = visits[state].previous) {
      const ReshardMove &move = visits[state].move;
      plan.steps.push_back(
          {move.kind, space.atoms.join(move.atoms), move.dim, move.concatDim, space.toSharding(state)});
    }
    std::reverse(plan.steps.begin(), plan.steps.end());
    return plan;
  }

  const ReshardSpace &space;
  ReshardMoves moves;
  const ReshardState start, goal;
  const double leastWeight;

  using Entry = std::pair<CollectiveCost, ReshardState>;
  struct Later {
    bool operator()(const Entry &x, const Entry &y) const {
      if (x.first < y.first || y.first < x.first)
        return y.first < x.first;
      return y.second < x.second;
    }
  };
  std::map<ReshardState, Visit> visits;
  std::priority_queue<Entry, std::vector<Entry>, Later> open;
  std::vector<ReshardState> pricedLate;
};

/// Devices that hold the same may each send a part of it along slow links, and share what comes along faster ones: the
/// atoms that neither side names and that are faster than one of those over which devices differ. The largest ones are
/// enough, and each more makes many more ways.
AtomList findSpread(const ReshardSpace &space, const CostModel &model, const ReshardState &start,
                    const ReshardState &goal) {
  constexpr size_t kMost = 3;
  auto rateOf = [&](int atom) { return model.ratesOf({space.atoms.join(atom).front().name}).bytesPerSecond; };
  AtomList idle;
  double slowest = std::numeric_limits<double>::infinity();
  for (int atom = 0; atom < space.atoms.count(); ++atom)
    if (space.isUsed(start, atom) || space.isUsed(goal, atom))
      slowest = std::min(slowest, rateOf(atom));
    else if (space.atoms.sizeOf(atom) > 1)
      idle.push_back(atom);
  llvm::erase_if(idle, [&](int atom) { return rateOf(atom) <= slowest; });
  llvm::sort(idle,
             [&](int x, int y) { return std::pair(-space.atoms.sizeOf(x), x) < std::pair(-space.atoms.sizeOf(y), y); });
  idle.truncate(std::min(idle.size(), kMost));
  return idle;
}

} // namespace

ReshardPlan searchReshard(const spmd::MeshShape &mesh, const CostModel &model, ArrayType source, ArrayType target,
                          bool spreads) {
  ReshardSpace space(mesh, source, target);
  if (!space.atoms.exist())
    return ReshardMoves(space, model).planDirectly();
  ReshardState start = space.toState(space.from), goal = space.toState(space.to);
  if (!space.isFaithful(start) || !space.isFaithful(goal))
    return ReshardMoves(space, model).planDirectly();
  auto secondsOf = [&](const ReshardPlan &way) { return model.seconds(way.cost, mesh.deviceCount()); };
  std::optional<ReshardPlan> plan = Search(space, model, start, goal).run();
  if (!plan)
    return ReshardMoves(space, model).planDirectly();
  if (start == goal)
    return *plan;
  // Bytes and not seconds lead the search: more steps may take longer for few of them.
  if (AtomList spread = findSpread(space, model, start, goal); spreads && !spread.empty())
    if (std::optional<ReshardPlan> way = Search(space, model, start, goal, std::move(spread)).run();
        way && secondsOf(*way) < (1 - CostModel::kAlike) * secondsOf(*plan))
      return *way;
  return *plan;
}

double leastReshardBytes(const spmd::MeshShape &mesh, const CostModel &model, ArrayType source, ArrayType target) {
  ReshardSpace space(mesh, source, target);
  ReshardState start = space.toState(space.from), goal = space.toState(space.to);
  // Devices may already have what is missing as partial sums.
  if (!llvm::all_of(goal.unreduced, [&](int atom) { return llvm::is_contained(start.unreduced, atom); }))
    return 0;
  double bytes =
      start.unreduced.empty() ? std::max(0.0, space.missingBytes(start, goal)) : space.leastReducedBytes(start, goal);
  return leastWeightOf(mesh, model) * bytes;
}

} // namespace spmdc
