//===- ReshardPlanner.cpp - the cheapest way from one sharding to another -===//

#include "passes/collective/ReshardPlanner.h"

#include "passes/collective/Atoms.h"

#include <algorithm>
#include <limits>
#include <queue>

using namespace mlir;

namespace spmdc {
namespace {

using Kind = ReshardStep::Kind;

/// A sharding over atoms: per dimension major to minor, and the unreduced atoms in ascending order.
struct State {
  using List = SmallVector<int, 4>;
  SmallVector<List, 4> dims;
  List unreduced;
  std::strong_ordering operator<=>(const State &) const = default;
};

struct Move {
  Kind kind;
  State::List atoms;
  int64_t dim = -1, concatDim = -1;
  State after;
  CollectiveCost cost;
};

/// Shardings explored before the search settles for an exchange (and a reduction before it): far above what meshes of
/// four axes and arrays of four dimensions need.
constexpr size_t kMaxExplored = 20000;

/// Beyond so many devices a look at every one of them takes longer than it saves: the search is led by sizes alone, and
/// where there are few atoms, thus few ways, an exchange is priced only in the end.
constexpr int64_t kManyDevices = 1024;
constexpr int64_t kFewAtoms = 4;

class Search {
public:
  Search(const spmd::MeshShape &mesh, const CostModel &model, ArrayType source, ArrayType target)
      : mesh(mesh), model(model), from(source.getShardingOrOpen().toValue()), to(target.getShardingOrOpen().toValue()),
        atoms(mesh, {&from, &to}), shape(source.getShape().begin(), source.getShape().end()),
        elementBytes(static_cast<double>(spmd::byteSize(source.getDType()))) {
    std::vector<std::string> names;
    for (const spmd::MeshAxis &axis : mesh.axes)
      names.push_back(axis.name);
    leastWeight = model.leastWeight(names);
  }

  ReshardPlan run() {
    State start = toState(from), goal = toState(to);
    if (!isFaithful(start) || !isFaithful(goal))
      return planDirectly(start, goal);
    struct Visit {
      CollectiveCost cost{.linkBytes = std::numeric_limits<double>::infinity()};
      State previous;
      Move move;
      bool isDone = false;
      double missing = 0; ///< Bytes that must still be sent, whatever the way.
    };
    std::map<State, Visit> visits;
    std::vector<State> exchangesFrom;
    using Entry = std::pair<CollectiveCost, State>;
    auto later = [](const Entry &x, const Entry &y) {
      if (x.first < y.first || y.first < x.first)
        return y.first < x.first;
      return y.second < x.second;
    };
    std::priority_queue<Entry, std::vector<Entry>, decltype(later)> open(later);
    visits[start].cost = {.peakBytes = localBytes(start)};
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
      // An exchange is worth its price (it looks at every device) only where the way begins, and behind reductions:
      // what it replaces are all other moves.
      bool isReduced = visit.move.kind == Kind::AllReduce || visit.move.kind == Kind::ReduceScatter;
      bool mayExchange = (state == start || isReduced) && state.unreduced.empty() && goal.unreduced.empty();
      if (mayExchange && mesh.deviceCount() > kManyDevices && atoms.count() <= kFewAtoms) {
        exchangesFrom.push_back(state);
        mayExchange = false;
      }
      bool isStateFaithful = isFaithful(state);
      for (Move &move : movesFrom(state, goal, mayExchange, visits.size() < kMaxExplored)) {
        CollectiveCost total = cost + move.cost;
        // No way leads through a state that costs as much as a known way to the goal.
        if (auto known = visits.find(goal); known != visits.end() && !(total < known->second.cost))
          continue;
        auto entry = visits.find(move.after);
        if (entry != visits.end() && !(total < entry->second.cost))
          continue;
        // An exchange goes by the shardings themselves, and a reduction leaves the pieces as they are.
        bool keepsPieces = move.kind == Kind::Exchange || move.after.dims == state.dims;
        if (!keepsPieces && !(isStateFaithful && isFaithful(move.after)))
          continue;
        if (entry == visits.end()) {
          entry = visits.try_emplace(move.after).first;
          if (move.after.unreduced.empty() && goal.unreduced.empty())
            entry->second.missing = missingBytes(move.after, goal);
        }
        // Nor through one that is so far from the goal that what devices still lack makes the way as long.
        CollectiveCost atLeast = total + CollectiveCost{.linkBytes = leastWeight * entry->second.missing};
        if (auto known = visits.find(goal); known != visits.end() && entry != known && !(atLeast < known->second.cost))
          continue;
        entry->second.cost = total;
        entry->second.previous = state;
        open.push({total, move.after});
        entry->second.move = std::move(move);
      }
    }
    for (const State &state : exchangesFrom) {
      CollectiveCost before = visits[state].cost;
      CollectiveCost least =
          before + CollectiveCost{.linkBytes = leastWeight * leastBytes(state, goal), .exchanges = 1, .steps = 1};
      auto known = visits.find(goal);
      if (known != visits.end() && !(least < known->second.cost))
        continue;
      Move exchange = priceExchange(state, goal);
      CollectiveCost total = before + exchange.cost;
      if (known == visits.end() || total < known->second.cost)
        visits[goal] = {total, state, std::move(exchange)};
    }
    ReshardPlan plan;
    plan.explored = static_cast<int64_t>(visits.size());
    plan.isPossible = visits.contains(goal);
    if (!plan.isPossible)
      return plan;
    plan.cost = visits[goal].cost;
    for (State state = goal; state != start; state = visits[state].previous) {
      const Move &move = visits[state].move;
      plan.steps.push_back({move.kind, atoms.join(move.atoms), move.dim, move.concatDim, toSharding(state)});
    }
    std::reverse(plan.steps.begin(), plan.steps.end());
    return plan;
  }

private:
  /// Whether the dimension is cut alike by its axes and by the atoms of these. Nested ceilings over a:(1)2 and a:(2)2
  /// are those over `a` only where the pieces come out even: 5 elements are 2 2 1 0 over `a`, but 2 1 2 0 over its
  /// halves.
  bool isFaithful(size_t dim, ArrayRef<int> dimAtoms) const {
    int64_t pieces = 1;
    for (int atom : dimAtoms)
      pieces *= atoms.sizeOf(atom);
    if (dimAtoms.size() < 2 || shape[dim] % pieces == 0)
      return true;
    std::vector<spmd::AxisRef> axes = atoms.join(dimAtoms);
    if (axes.size() == dimAtoms.size())
      return true;
    std::vector<int64_t> atomSizes, axisSizes;
    for (int atom : dimAtoms)
      atomSizes.push_back(atoms.sizeOf(atom));
    for (const spmd::AxisRef &axis : axes)
      axisSizes.push_back(axis.sizeIn(mesh));
    auto positionsOf = [](int64_t piece, const std::vector<int64_t> &sizes) {
      std::vector<int64_t> positions(sizes.size());
      for (size_t i = sizes.size(); i-- > 0; piece /= sizes[i])
        positions[i] = piece % sizes[i];
      return positions;
    };
    for (int64_t piece = 0; piece < pieces; ++piece)
      if (spmd::shardRange(shape[dim], atomSizes, positionsOf(piece, atomSizes)) !=
          spmd::shardRange(shape[dim], axisSizes, positionsOf(piece, axisSizes)))
        return false;
    return true;
  }

  bool isFaithful(const State &state) const {
    for (size_t d = 0; d < state.dims.size(); ++d)
      if (!isFaithful(d, state.dims[d]))
        return false;
    return true;
  }

  /// Where atoms do not describe the source or the target: reduce what is pending, then one exchange over every axis
  /// that either names.
  ReshardPlan planDirectly(const State &start, const State &goal) const {
    ReshardPlan plan;
    spmd::Sharding current = from;
    plan.cost.peakBytes = localBytes(start);
    State::List pending;
    std::set_difference(start.unreduced.begin(), start.unreduced.end(), goal.unreduced.begin(), goal.unreduced.end(),
                        std::back_inserter(pending));
    if (!pending.empty()) {
      State reduced = start;
      reduced.unreduced = goal.unreduced;
      Move move = price({Kind::AllReduce, pending, -1, -1, reduced, {}}, start);
      current.unreduced = to.unreduced;
      plan.steps.push_back({Kind::AllReduce, atoms.join(pending), -1, -1, current});
      plan.cost = plan.cost + move.cost;
    }
    if (current.dims == to.dims)
      return plan;
    std::vector<spmd::AxisRef> axes;
    for (const spmd::MeshAxis &axis : mesh.axes) {
      auto names = [&](const spmd::Sharding &sharding) {
        return std::any_of(sharding.dims.begin(), sharding.dims.end(), [&](const auto &dim) {
          return std::any_of(dim.begin(), dim.end(), [&](const spmd::AxisRef &ref) { return ref.name == axis.name; });
        });
      };
      if (names(current) || names(to))
        axes.push_back({axis.name, 1, 0});
    }
    plan.steps.push_back({Kind::Exchange, axes, -1, -1, to});
    plan.cost = plan.cost + model.costOf("exchange", namesOf(axes), exchangeBytes(current, to),
                                         localBytes(start) + localBytes(goal));
    return plan;
  }

  State::List toList(const std::vector<spmd::AxisRef> &axes) const {
    std::vector<int> list = atoms.split(axes);
    return State::List(list.begin(), list.end());
  }

  State toState(const spmd::Sharding &sharding) const {
    State state;
    for (const auto &axes : sharding.dims)
      state.dims.push_back(toList(axes));
    state.unreduced = toList(sharding.unreduced);
    llvm::sort(state.unreduced);
    return state;
  }

  spmd::Sharding toSharding(const State &state) const {
    spmd::Sharding sharding;
    for (const auto &dim : state.dims)
      sharding.dims.push_back(atoms.join(dim));
    sharding.unreduced = atoms.join(state.unreduced);
    return sharding;
  }

  double localBytes(const State &state) const {
    double bytes = elementBytes;
    for (size_t d = 0; d < shape.size(); ++d) {
      int64_t size = shape[d];
      for (int atom : state.dims[d])
        size = llvm::divideCeilSigned(size, atoms.sizeOf(atom));
      bytes *= static_cast<double>(size);
    }
    return bytes;
  }

  double groupOf(ArrayRef<int> group) const {
    double size = 1;
    for (int atom : group)
      size *= static_cast<double>(atoms.sizeOf(atom));
    return size;
  }

  /// Prices a move from `before`; a slice is free.
  Move price(Move move, const State &before) const {
    double operand = localBytes(before), result = localBytes(move.after);
    // (g - 1) / g of something on each of n devices is (g - 1) * (n / g) of it on all: a whole number.
    double group = groupOf(move.atoms), devices = static_cast<double>(mesh.deviceCount());
    double share = (group - 1) * (devices / group);
    double bytes = 0;
    switch (move.kind) {
    case Kind::AllGather:
      bytes = share * result;
      break;
    case Kind::AllSlice:
      move.cost.peakBytes = result;
      return move;
    case Kind::AllToAll:
    case Kind::ReduceScatter:
      bytes = share * operand;
      break;
    case Kind::AllReduce:
      bytes = 2 * share * operand;
      break;
    case Kind::Exchange:
      bytes = exchangeBytes(toSharding(before), toSharding(move.after));
      break;
    }
    std::vector<int> list(move.atoms.begin(), move.atoms.end());
    move.cost = model.costOf(nameOf(move.kind), namesOf(atoms.join(list)), bytes, operand + result);
    return move;
  }

  static std::string_view nameOf(Kind kind) {
    switch (kind) {
    case Kind::AllReduce:
      return "all_reduce";
    case Kind::Exchange:
      return "exchange";
    default: // All others take one step.
      return "all_gather";
    }
  }

  static std::vector<std::string> namesOf(const std::vector<spmd::AxisRef> &axes) {
    std::vector<std::string> names;
    for (const spmd::AxisRef &axis : axes)
      names.push_back(axis.name);
    return names;
  }

  /// What the devices need and do not hold.
  double exchangeBytes(const spmd::Sharding &source, const spmd::Sharding &target) const {
    return spmd::missingElements(mesh, {shape, source}, {shape, target}) * elementBytes;
  }

  bool isUsed(const State &state, int atom) const {
    auto has = [&](const State::List &list) { return llvm::is_contained(list, atom); };
    return has(state.unreduced) || llvm::any_of(state.dims, has);
  }

  Move priceExchange(const State &state, const State &goal) const {
    return price({Kind::Exchange, involvedAtoms(state, goal), -1, -1, goal, {}}, state);
  }

  std::vector<Move> movesFrom(const State &state, const State &goal, bool mayExchange, bool isWide) const {
    std::vector<Move> moves;
    addReductions(state, goal, moves);
    if (isWide) {
      addGathers(state, moves);
      addSlices(state, goal, moves);
      addAllToAlls(state, moves);
    }
    if (mayExchange)
      moves.push_back(priceExchange(state, goal));
    return moves;
  }

  /// What devices of a state lack of the goal, or less where a look at every one of them takes longer than it saves.
  double missingBytes(const State &state, const State &goal) const {
    return mesh.deviceCount() <= kManyDevices ? exchangeBytes(toSharding(state), to)
                                              : std::max(0.0, leastBytes(state, goal));
  }

  /// What no way can send less than, without a look at every device: of its piece of the goal a device holds at most
  /// the smaller of both sizes in each dimension. Of pieces that are not all of one size nothing is known.
  double leastBytes(const State &state, const State &goal) const {
    double needed = elementBytes, held = elementBytes;
    for (size_t d = 0; d < shape.size(); ++d) {
      int64_t pieces = static_cast<int64_t>(groupOf(state.dims[d])),
              wanted = static_cast<int64_t>(groupOf(goal.dims[d]));
      if (shape[d] % pieces != 0 || shape[d] % wanted != 0)
        return -1;
      needed *= static_cast<double>(shape[d] / wanted);
      held *= static_cast<double>(shape[d] / std::max(pieces, wanted));
    }
    return (needed - held) * static_cast<double>(mesh.deviceCount());
  }

  /// The atoms over which devices must talk. One that cuts the same dimension behind majors of the same sizes selects
  /// the same elements on both sides: what a device needs, devices of its own coordinate have. Behind other sizes it
  /// does not, even at the same place: over a=3, b=2, c=2 the pieces of b are others in (a, b) than in (c, b).
  State::List involvedAtoms(const State &state, const State &goal) const {
    State::List result;
    for (int atom = 0; atom < atoms.count(); ++atom) {
      // The dimension, and the sizes of the majors.
      auto placeIn = [&](const State &in) {
        std::pair<int64_t, SmallVector<int64_t, 4>> place(-1, {});
        for (size_t d = 0; d < in.dims.size(); ++d) {
          auto found = std::find(in.dims[d].begin(), in.dims[d].end(), atom);
          if (found == in.dims[d].end())
            continue;
          place.first = static_cast<int64_t>(d);
          for (auto major = in.dims[d].begin(); major != found; ++major)
            place.second.push_back(atoms.sizeOf(*major));
        }
        return place;
      };
      if (placeIn(state) != placeIn(goal))
        result.push_back(atom);
    }
    return result;
  }

  void addGathers(const State &state, std::vector<Move> &moves) const {
    for (size_t d = 0; d < state.dims.size(); ++d)
      for (size_t k = 1; k <= state.dims[d].size(); ++k) {
        Move move{
            Kind::AllGather, {state.dims[d].end() - k, state.dims[d].end()}, static_cast<int64_t>(d), -1, state, {}};
        move.after.dims[d].resize(state.dims[d].size() - k);
        moves.push_back(price(std::move(move), state));
      }
  }

  /// Axes that the goal does not name would have to be gathered again.
  void addSlices(const State &state, const State &goal, std::vector<Move> &moves) const {
    for (int atom = 0; atom < atoms.count(); ++atom) {
      if (isUsed(state, atom) || !isUsed(goal, atom))
        continue;
      for (size_t d = 0; d < state.dims.size(); ++d) {
        Move move{Kind::AllSlice, {atom}, static_cast<int64_t>(d), -1, state, {}};
        move.after.dims[d].push_back(atom);
        moves.push_back(price(std::move(move), state));
      }
    }
  }

  void addAllToAlls(const State &state, std::vector<Move> &moves) const {
    for (size_t from = 0; from < state.dims.size(); ++from)
      for (size_t k = 1; k <= state.dims[from].size(); ++k)
        for (size_t to = 0; to < state.dims.size(); ++to) {
          if (to == from)
            continue;
          State::List moved(state.dims[from].end() - k, state.dims[from].end());
          Move move{Kind::AllToAll, moved, static_cast<int64_t>(to), static_cast<int64_t>(from), state, {}};
          move.after.dims[from].resize(state.dims[from].size() - k);
          move.after.dims[to].insert(move.after.dims[to].end(), moved.begin(), moved.end());
          moves.push_back(price(std::move(move), state));
        }
  }

  void addReductions(const State &state, const State &goal, std::vector<Move> &moves) const {
    State::List pending;
    for (int atom : state.unreduced)
      if (std::find(goal.unreduced.begin(), goal.unreduced.end(), atom) == goal.unreduced.end())
        pending.push_back(atom);
    if (pending.empty())
      return;
    auto without = [&](const State::List &reduced) {
      State after = state;
      llvm::erase_if(after.unreduced, [&](int atom) { return llvm::is_contained(reduced, atom); });
      return after;
    };
    moves.push_back(price({Kind::AllReduce, pending, -1, -1, without(pending), {}}, state));
    for (int atom : pending)
      if (pending.size() > 1)
        moves.push_back(price({Kind::AllReduce, {atom}, -1, -1, without({atom}), {}}, state));
    for (size_t d = 0; d < state.dims.size(); ++d) {
      // Runs of the goal's axes that continue what the dimension already has, and single atoms.
      SmallVector<State::List> runs;
      for (int atom : pending)
        runs.push_back({atom});
      const State::List &wanted = goal.dims[d];
      size_t have = state.dims[d].size();
      if (have < wanted.size() && std::equal(state.dims[d].begin(), state.dims[d].end(), wanted.begin()))
        for (size_t k = 2; have + k <= wanted.size(); ++k)
          runs.emplace_back(wanted.begin() + have, wanted.begin() + have + k);
      for (const State::List &run : runs) {
        bool arePending = llvm::all_of(run, [&](int atom) { return llvm::is_contained(pending, atom); });
        if (!arePending)
          continue;
        Move move{Kind::ReduceScatter, run, static_cast<int64_t>(d), -1, without(run), {}};
        move.after.dims[d].insert(move.after.dims[d].end(), run.begin(), run.end());
        moves.push_back(price(std::move(move), state));
      }
    }
  }

  const spmd::MeshShape &mesh;
  const CostModel &model;
  spmd::Sharding from, to;
  Atoms atoms;
  std::vector<int64_t> shape;
  double elementBytes;
  double leastWeight;
};

AxesAttr axesAttr(MLIRContext *context, const std::vector<spmd::AxisRef> &axes) {
  SmallVector<AxisRefAttr> attrs;
  for (const spmd::AxisRef &axis : axes)
    attrs.push_back(AxisRefAttr::get(context, axis.name, axis.preSize, axis.size));
  return AxesAttr::get(context, attrs);
}

} // namespace

const ReshardPlan &ReshardPlanner::plan(ArrayType source, ArrayType target) {
  ShardingAttr from = source.getShardingOrOpen().getClosed(), to = target.getShardingOrOpen().getClosed();
  auto [entry, isNew] = plans.try_emplace({source.withSharding(from), target.withSharding(to)});
  if (isNew) {
    entry->second = std::make_unique<ReshardPlan>(Search(mesh, model, source, target).run());
    explored += entry->second->explored;
  }
  return *entry->second;
}

Value ReshardPlanner::build(OpBuilder &builder, Location loc, Value local, ArrayType source, ArrayType target,
                            StringRef why) {
  MLIRContext *context = builder.getContext();
  StringAttr reason = why.empty() ? StringAttr() : builder.getStringAttr(why);
  MeshAttr meshAttr = MeshAttr::fromValue(context, "", mesh);
  // Partial sums over an axis of one device are whole: no step reduces them, and none may still speak of them.
  spmd::Sharding start = source.getShardingOrOpen().toValue();
  std::erase_if(start.unreduced, [&](const spmd::AxisRef &axis) { return axis.sizeIn(mesh) == 1; });
  ArrayType before = source.withSharding(ShardingAttr::fromValue(context, start));
  for (const ReshardStep &step : plan(source, target).steps) {
    ArrayType after = source.withSharding(ShardingAttr::fromValue(context, step.after));
    ArrayType result = after.getLocal(meshAttr);
    AxesAttr axes = axesAttr(context, step.axes);
    switch (step.kind) {
    case Kind::AllGather:
      local = builder.create<AllGatherOp>(loc, result, local, step.dim, axes, reason);
      break;
    case Kind::AllSlice:
      local = builder.create<AllSliceOp>(loc, result, local, step.dim, axes);
      break;
    case Kind::AllToAll:
      local = builder.create<AllToAllOp>(loc, result, local, step.dim, step.concatDim, axes, reason);
      break;
    case Kind::AllReduce:
      local = builder.create<AllReduceOp>(loc, result, local, ReductionKind::sum, axes, reason);
      break;
    case Kind::ReduceScatter:
      local = builder.create<ReduceScatterOp>(loc, result, local, ReductionKind::sum, step.dim, axes, reason);
      break;
    case Kind::Exchange:
      local = builder.create<ExchangeOp>(loc, result, local, axes, before, after, /*shifts=*/nullptr,
                                         /*strides=*/nullptr, /*begins=*/nullptr, /*ends=*/nullptr, reason);
      break;
    }
    before = after;
  }
  return local;
}

} // namespace spmdc
