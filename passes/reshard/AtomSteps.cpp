//===- AtomSteps.cpp - the possible next steps of a reshard ------------===//

#include "passes/reshard/AtomSteps.h"

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
  default: // All others have the latency of one step.
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

AtomSteps::AtomSteps(const ReshardSpace &space, const CostModel &model, double partialScale, AtomList spread)
    : space(space), model(model), partialScale(partialScale), spread(std::move(spread)) {
  for (Atom atom = 0; atom < space.atoms.count(); ++atom)
    ratesOfAtom.push_back(model.ratesOf(namesOf(space.atoms.merge(atom))));
}

ReshardState AtomStep::apply(const ReshardState &before) const {
  ReshardState after = before;
  if (isReduction())
    after.removeUnreduced(atoms);
  if (from >= 0)
    after.drop(static_cast<size_t>(from), atoms.size());
  if (to >= 0)
    after.append(static_cast<size_t>(to), atoms);
  if (makesSums())
    after.addUnreduced(atoms);
  return after;
}

/// Local operations are free.
CollectiveCost AtomSteps::price(const AtomStep &move, double before, double after) const {
  // (g - 1) / g of the bytes on each of n devices is (g - 1) * (n / g) of them on all: a whole number.
  double group = space.groupOf(move.atoms), devices = static_cast<double>(space.deviceCount);
  double share = (group - 1) * (devices / group);
  switch (move.kind) {
  case Kind::AllGather:
    return costOf(move, share * after, before + after);
  case Kind::AllToAll:
  case Kind::ReduceScatter:
    return costOf(move, share * before, before + after);
  case Kind::AllReduce:
    return costOf(move, 2 * share * before, before + after);
  default:
    return {.peakBytes = after};
  }
}

CollectiveCost AtomSteps::priceExchange(const AtomStep &exchange, const ReshardState &before,
                                        const ReshardState &after) const {
  return costOf(exchange, space.exchangeBytes(before, after), space.localBytes(before) + space.localBytes(after));
}

CollectiveCost AtomSteps::costOf(const AtomStep &move, double bytes, double peakBytes) const {
  // An exchange may have no atoms: with uneven shards devices communicate although the lists of atoms agree.
  LinkRates rates = move.atoms.empty() ? model.link : ratesOfAtom[move.atoms.front()];
  for (Atom atom : move.atoms)
    rates = rates.with(ratesOfAtom[atom]);
  return model.costOf(nameOf(move.kind), rates, bytes, peakBytes);
}

void AtomSteps::visitGathers(const ReshardState &state, Visitor visit) {
  for (size_t d = 0; d < state.getRank(); ++d) {
    ArrayRef<Atom> dim = state.getDim(d);
    for (size_t k = 1; k <= dim.size(); ++k)
      visit({Kind::AllGather, AtomList(dim.take_back(k)), static_cast<int64_t>(d)});
  }
}

/// Slices only over atoms of the goal or of `spread`, because others would have to be gathered again.
void AtomSteps::visitSlices(const ReshardState &state, const ReshardState &goal, Visitor visit) const {
  for (Atom atom = 0; atom < space.atoms.count(); ++atom)
    if (!state.isUsed(atom) && (goal.isUsed(atom) || llvm::is_contained(spread, atom)))
      for (size_t d = 0; d < state.getRank(); ++d)
        visit({Kind::AllSlice, {atom}, -1, static_cast<int64_t>(d)});
}

void AtomSteps::visitAllToAlls(const ReshardState &state, Visitor visit) {
  for (size_t from = 0; from < state.getRank(); ++from) {
    ArrayRef<Atom> dim = state.getDim(from);
    for (size_t k = 1; k <= dim.size(); ++k)
      for (size_t to = 0; to < state.getRank(); ++to)
        if (to != from)
          visit({Kind::AllToAll, AtomList(dim.take_back(k)), static_cast<int64_t>(from), static_cast<int64_t>(to)});
  }
}

void AtomSteps::visitPartialSums(const ReshardState &state, const ReshardState &goal, Visitor visit) {
  AtomList unused;
  llvm::copy_if(goal.getUnreduced(), std::back_inserter(unused), [&](Atom atom) { return !state.isUsed(atom); });
  if (!unused.empty())
    visit({Kind::KeepOnFirst, unused});
  for (size_t d = 0; d < state.getRank(); ++d)
    if (ArrayRef<Atom> dim = state.getDim(d); !dim.empty() && llvm::is_contained(goal.getUnreduced(), dim.back()))
      visit({Kind::PlaceInZeros, {dim.back()}, static_cast<int64_t>(d)});
}

void AtomSteps::visitReductions(const ReshardState &state, const ReshardState &goal, Visitor visit) {
  AtomList pending;
  llvm::copy_if(state.getUnreduced(), std::back_inserter(pending),
                [&](Atom atom) { return !llvm::is_contained(goal.getUnreduced(), atom); });
  if (pending.empty())
    return;
  visit({Kind::AllReduce, pending});
  for (Atom atom : pending)
    if (pending.size() > 1)
      visit({Kind::AllReduce, {atom}});
  for (size_t d = 0; d < state.getRank(); ++d) {
    auto scatter = [&](ArrayRef<Atom> atoms) {
      visit({Kind::ReduceScatter, AtomList(atoms), -1, static_cast<int64_t>(d)});
    };
    // Scatters over single atoms, and over runs of the goal's atoms that continue those that the dimension has.
    for (Atom atom : pending)
      scatter(atom);
    ArrayRef<Atom> have = state.getDim(d), wanted = goal.getDim(d);
    if (have.size() >= wanted.size() || have != wanted.take_front(have.size()))
      continue;
    ArrayRef<Atom> next = wanted.drop_front(have.size());
    auto isPending = [&](Atom atom) { return llvm::is_contained(pending, atom); };
    for (size_t k = 2; k <= next.size() && llvm::all_of(next.take_front(k), isPending); ++k)
      scatter(next.take_front(k));
  }
}

AtomStep AtomSteps::exchange(const ReshardState &state, const ReshardState &after) const {
  return {Kind::Exchange, space.involvedAtoms(state, after)};
}

void AtomSteps::visit(const ReshardState &state, const ReshardState &goal, bool isWide, Visitor visit) const {
  visitReductions(state, goal, visit);
  visitPartialSums(state, goal, visit);
  if (!isWide)
    return;
  visitGathers(state, visit);
  visitSlices(state, goal, visit);
  visitAllToAlls(state, visit);
}

ReshardPlan AtomSteps::planDirectly(const spmd::Sharding &source, const spmd::Sharding &target) const {
  ReshardPlan plan;
  spmd::Sharding current = source;
  auto heldAs = [&](const spmd::Sharding &sharding) {
    return space.localBytes(sharding) * (sharding.unreduced.empty() ? 1 : partialScale);
  };
  double held = heldAs(source);
  plan.cost.peakBytes = held;
  std::vector<spmd::AxisRef> pending = space.without(source.unreduced, target.unreduced);
  std::vector<spmd::AxisRef> missing = space.without(target.unreduced, source.unreduced);
  auto finish = [&] {
    if (!missing.empty())
      plan.steps.push_back({Kind::KeepOnFirst, missing, -1, -1, target});
    return plan;
  };
  if (!pending.empty()) {
    double group = 1, devices = static_cast<double>(space.deviceCount);
    for (const spmd::AxisRef &axis : pending)
      group *= static_cast<double>(axis.sizeIn(space.mesh));
    current.unreduced = space.without(source.unreduced, pending);
    plan.steps.push_back({Kind::AllReduce, pending, -1, -1, current});
    plan.cost =
        plan.cost + model.costOf("all_reduce", namesOf(pending), 2 * (group - 1) * (devices / group) * held, 2 * held);
  }
  if (current.dims == target.dims)
    return finish();
  spmd::Sharding after = target;
  after.unreduced = current.unreduced;
  std::vector<spmd::AxisRef> axes;
  for (const spmd::MeshAxis &axis : space.mesh.axes) {
    auto names = [&](const spmd::Sharding &sharding) {
      return std::any_of(sharding.dims.begin(), sharding.dims.end(), [&](const auto &dim) {
        return std::any_of(dim.begin(), dim.end(), [&](const spmd::AxisRef &ref) { return ref.name == axis.name; });
      });
    };
    if (names(current) || names(target))
      axes.push_back({axis.name, 1, 0});
  }
  plan.steps.push_back({Kind::Exchange, axes, -1, -1, after});
  double scale = after.unreduced.empty() ? 1 : partialScale;
  plan.cost = plan.cost + model.costOf("exchange", namesOf(axes), scale * space.exchangeBytes(current, after),
                                       heldAs(current) + heldAs(after));
  return finish();
}

} // namespace spmdc
