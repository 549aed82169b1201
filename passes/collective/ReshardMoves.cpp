//===- ReshardMoves.cpp - the collectives that lead on from a sharding -===//

#include "passes/collective/ReshardMoves.h"

#include <algorithm>

using namespace mlir;

namespace spmdc {
namespace {

using Kind = ReshardStep::Kind;

std::string_view nameOf(Kind kind) {
  switch (kind) {
  case Kind::AllReduce:
    return "all_reduce";
  case Kind::Exchange:
    return "exchange";
  default: // All others take one step.
    return "all_gather";
  }
}

std::vector<std::string> namesOf(const std::vector<spmd::AxisRef> &axes) {
  std::vector<std::string> names;
  for (const spmd::AxisRef &axis : axes)
    names.push_back(axis.name);
  return names;
}

} // namespace

ReshardMoves::ReshardMoves(const ReshardSpace &space, const CostModel &model, AtomList spread)
    : space(space), model(model), spread(std::move(spread)) {
  for (int atom = 0; atom < space.atoms.count(); ++atom)
    ratesOfAtom.push_back(model.ratesOf(namesOf(space.atoms.join(atom))));
}

/// What devices do by themselves is free.
ReshardMove ReshardMoves::price(ReshardMove move, const ReshardState &before) const {
  double operand = space.localBytes(before), result = space.localBytes(move.after);
  // (g - 1) / g of something on each of n devices is (g - 1) * (n / g) of it on all: a whole number.
  double group = space.groupOf(move.atoms), devices = static_cast<double>(space.mesh.deviceCount());
  double share = (group - 1) * (devices / group);
  double bytes = 0;
  switch (move.kind) {
  case Kind::AllGather:
    bytes = share * result;
    break;
  case Kind::AllSlice:
  case Kind::KeepOnFirst:
  case Kind::PlaceInZeros:
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
    bytes = space.exchangeBytes(space.toSharding(before), space.toSharding(move.after));
    break;
  }
  // An exchange may have no atoms: devices of an uneven cut talk, whatever the lists say.
  LinkRates rates = move.atoms.empty() ? model.link : ratesOfAtom[move.atoms.front()];
  for (int atom : move.atoms)
    rates = rates.with(ratesOfAtom[atom]);
  move.cost = model.costOf(nameOf(move.kind), rates, bytes, operand + result);
  return move;
}

void ReshardMoves::addGathers(const ReshardState &state, std::vector<ReshardMove> &moves) const {
  for (size_t d = 0; d < state.dims.size(); ++d)
    for (size_t k = 1; k <= state.dims[d].size(); ++k) {
      ReshardMove move{
          Kind::AllGather, {state.dims[d].end() - k, state.dims[d].end()}, static_cast<int64_t>(d), -1, state, {}};
      move.after.dims[d].resize(state.dims[d].size() - k);
      moves.push_back(price(std::move(move), state));
    }
}

/// Axes that the goal does not name have to be gathered again.
void ReshardMoves::addSlices(const ReshardState &state, const ReshardState &goal,
                             std::vector<ReshardMove> &moves) const {
  for (int atom = 0; atom < space.atoms.count(); ++atom) {
    if (space.isUsed(state, atom) || !(space.isUsed(goal, atom) || llvm::is_contained(spread, atom)))
      continue;
    for (size_t d = 0; d < state.dims.size(); ++d) {
      ReshardMove move{Kind::AllSlice, {atom}, static_cast<int64_t>(d), -1, state, {}};
      move.after.dims[d].push_back(atom);
      moves.push_back(price(std::move(move), state));
    }
  }
}

void ReshardMoves::addAllToAlls(const ReshardState &state, std::vector<ReshardMove> &moves) const {
  for (size_t from = 0; from < state.dims.size(); ++from)
    for (size_t k = 1; k <= state.dims[from].size(); ++k)
      for (size_t to = 0; to < state.dims.size(); ++to) {
        if (to == from)
          continue;
        AtomList moved(state.dims[from].end() - k, state.dims[from].end());
        ReshardMove move{Kind::AllToAll, moved, static_cast<int64_t>(to), static_cast<int64_t>(from), state, {}};
        move.after.dims[from].resize(state.dims[from].size() - k);
        move.after.dims[to].insert(move.after.dims[to].end(), moved.begin(), moved.end());
        moves.push_back(price(std::move(move), state));
      }
}

void ReshardMoves::addPartialSums(const ReshardState &state, const ReshardState &goal,
                                  std::vector<ReshardMove> &moves) const {
  auto makePartial = [&](Kind kind, const AtomList &atoms, int64_t dim) {
    ReshardMove move{kind, atoms, dim, -1, state, {}};
    if (dim >= 0)
      move.after.dims[dim].resize(state.dims[dim].size() - atoms.size());
    llvm::append_range(move.after.unreduced, atoms);
    llvm::sort(move.after.unreduced);
    moves.push_back(price(std::move(move), state));
  };
  auto isMissing = [&](int atom) {
    return llvm::is_contained(goal.unreduced, atom) && !llvm::is_contained(state.unreduced, atom);
  };
  AtomList unused;
  llvm::copy_if(goal.unreduced, std::back_inserter(unused), [&](int atom) { return !space.isUsed(state, atom); });
  if (!unused.empty())
    makePartial(Kind::KeepOnFirst, unused, -1);
  for (size_t d = 0; d < state.dims.size(); ++d)
    if (!state.dims[d].empty() && isMissing(state.dims[d].back()))
      makePartial(Kind::PlaceInZeros, {state.dims[d].back()}, static_cast<int64_t>(d));
}

void ReshardMoves::addReductions(const ReshardState &state, const ReshardState &goal,
                                 std::vector<ReshardMove> &moves) const {
  AtomList pending;
  for (int atom : state.unreduced)
    if (std::find(goal.unreduced.begin(), goal.unreduced.end(), atom) == goal.unreduced.end())
      pending.push_back(atom);
  if (pending.empty())
    return;
  auto without = [&](const AtomList &reduced) {
    ReshardState after = state;
    llvm::erase_if(after.unreduced, [&](int atom) { return llvm::is_contained(reduced, atom); });
    return after;
  };
  moves.push_back(price({Kind::AllReduce, pending, -1, -1, without(pending), {}}, state));
  for (int atom : pending)
    if (pending.size() > 1)
      moves.push_back(price({Kind::AllReduce, {atom}, -1, -1, without({atom}), {}}, state));
  for (size_t d = 0; d < state.dims.size(); ++d) {
    // Runs of the goal's axes that continue what the dimension already has, and single atoms.
    SmallVector<AtomList> runs;
    for (int atom : pending)
      runs.push_back({atom});
    const AtomList &wanted = goal.dims[d];
    size_t have = state.dims[d].size();
    if (have < wanted.size() && std::equal(state.dims[d].begin(), state.dims[d].end(), wanted.begin()))
      for (size_t k = 2; have + k <= wanted.size(); ++k)
        runs.emplace_back(wanted.begin() + have, wanted.begin() + have + k);
    for (const AtomList &run : runs) {
      bool arePending = llvm::all_of(run, [&](int atom) { return llvm::is_contained(pending, atom); });
      if (!arePending)
        continue;
      ReshardMove move{Kind::ReduceScatter, run, static_cast<int64_t>(d), -1, without(run), {}};
      move.after.dims[d].insert(move.after.dims[d].end(), run.begin(), run.end());
      moves.push_back(price(std::move(move), state));
    }
  }
}

ReshardMove ReshardMoves::exchange(const ReshardState &state, const ReshardState &goal) const {
  ReshardState after = goal;
  after.unreduced.clear();
  return price({Kind::Exchange, space.involvedAtoms(state, after), -1, -1, after, {}}, state);
}

std::vector<ReshardMove> ReshardMoves::from(const ReshardState &state, const ReshardState &goal, bool mayExchange,
                                            bool isWide) const {
  std::vector<ReshardMove> moves;
  moves.reserve(32);
  addReductions(state, goal, moves);
  addPartialSums(state, goal, moves);
  if (isWide) {
    addGathers(state, moves);
    addSlices(state, goal, moves);
    addAllToAlls(state, moves);
  }
  if (mayExchange)
    moves.push_back(exchange(state, goal));
  return moves;
}

ReshardPlan ReshardMoves::planDirectly() const {
  ReshardPlan plan;
  spmd::Sharding current = space.from;
  double held = space.localBytes(space.from);
  plan.cost.peakBytes = held;
  std::vector<spmd::AxisRef> pending = space.without(space.from.unreduced, space.to.unreduced);
  std::vector<spmd::AxisRef> missing = space.without(space.to.unreduced, space.from.unreduced);
  auto finish = [&] {
    if (!missing.empty())
      plan.steps.push_back({Kind::KeepOnFirst, missing, -1, -1, space.to});
    return plan;
  };
  if (!pending.empty()) {
    double group = 1, devices = static_cast<double>(space.mesh.deviceCount());
    for (const spmd::AxisRef &axis : pending)
      group *= static_cast<double>(axis.sizeIn(space.mesh));
    current.unreduced = space.without(space.from.unreduced, pending);
    plan.steps.push_back({Kind::AllReduce, pending, -1, -1, current});
    plan.cost =
        plan.cost + model.costOf("all_reduce", namesOf(pending), 2 * (group - 1) * (devices / group) * held, 2 * held);
  }
  if (current.dims == space.to.dims)
    return finish();
  spmd::Sharding target = space.to;
  target.unreduced = current.unreduced;
  std::vector<spmd::AxisRef> axes;
  for (const spmd::MeshAxis &axis : space.mesh.axes) {
    auto names = [&](const spmd::Sharding &sharding) {
      return std::any_of(sharding.dims.begin(), sharding.dims.end(), [&](const auto &dim) {
        return std::any_of(dim.begin(), dim.end(), [&](const spmd::AxisRef &ref) { return ref.name == axis.name; });
      });
    };
    if (names(current) || names(space.to))
      axes.push_back({axis.name, 1, 0});
  }
  plan.steps.push_back({Kind::Exchange, axes, -1, -1, target});
  plan.cost = plan.cost + model.costOf("exchange", namesOf(axes), space.exchangeBytes(current, target),
                                       held + space.localBytes(target));
  return finish();
}

} // namespace spmdc
