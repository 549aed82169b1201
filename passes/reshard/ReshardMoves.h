//===- ReshardMoves.h - the collectives that lead on from a sharding --*- C++ -*-===//
#pragma once

#include "passes/reshard/ReshardPlan.h"
#include "passes/reshard/ReshardSpace.h"

namespace spmdc {

/// A step over atoms.
struct ReshardMove {
  ReshardStep::Kind kind = ReshardStep::Kind::AllGather;
  AtomList atoms;
  int64_t from = -1; ///< The dimension off whose minor end they go,
  int64_t to = -1;   ///< and that to whose minor end they go; none for an exchange.

  bool isReduction() const { return kind == ReshardStep::Kind::AllReduce || kind == ReshardStep::Kind::ReduceScatter; }
  /// Whether partial sums come of it.
  bool makesSums() const { return kind == ReshardStep::Kind::KeepOnFirst || kind == ReshardStep::Kind::PlaceInZeros; }
  /// Not of an exchange.
  ReshardState apply(const ReshardState &before) const;
};

class ReshardMoves {
public:
  using Visitor = llvm::function_ref<void(const ReshardMove &)>;

  /// A plan may lead over the atoms of `spread`, which neither side names. A partial sum has `partialScale` times as
  /// many bytes as an element of the array (ir/spmd/ReducePrecision.h).
  ReshardMoves(const ReshardSpace &space, const CostModel &model, double partialScale, AtomList spread = {});

  /// Visits all that may help to get to the goal but an exchange; only reductions where it is not `isWide`.
  void visit(const ReshardState &state, const ReshardState &goal, bool isWide, Visitor visit) const;

  /// Of a move between states of which a device holds so many bytes.
  CollectiveCost price(const ReshardMove &move, double before, double after) const;

  /// One exchange to where a state without partial sums lies, from another one.
  ReshardMove exchange(const ReshardState &state, const ReshardState &after) const;
  CollectiveCost priceExchange(const ReshardMove &exchange, const ReshardState &before,
                               const ReshardState &after) const;

  /// Where atoms do not describe the source or the target, or do not exist: what is pending is reduced, then comes one
  /// exchange over every axis that either names, and what is a partial sum from then on is on the first devices.
  ReshardPlan planDirectly(const spmd::Sharding &source, const spmd::Sharding &target) const;

private:
  static void visitGathers(const ReshardState &state, Visitor visit);
  void visitSlices(const ReshardState &state, const ReshardState &goal, Visitor visit) const;
  static void visitAllToAlls(const ReshardState &state, Visitor visit);
  static void visitPartialSums(const ReshardState &state, const ReshardState &goal, Visitor visit);
  static void visitReductions(const ReshardState &state, const ReshardState &goal, Visitor visit);

  CollectiveCost costOf(const ReshardMove &move, double bytes, double peakBytes) const;

  const ReshardSpace &space;
  const CostModel &model;
  const double partialScale;
  const AtomList spread;
  std::vector<LinkRates> ratesOfAtom;
};

} // namespace spmdc
