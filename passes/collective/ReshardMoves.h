//===- ReshardMoves.h - the collectives that lead on from a sharding --*- C++ -*-===//
#pragma once

#include "passes/collective/ReshardPlan.h"
#include "passes/collective/ReshardSpace.h"

namespace spmdc {

/// A step over atoms.
struct ReshardMove {
  ReshardStep::Kind kind = ReshardStep::Kind::AllGather;
  AtomList atoms;
  int64_t dim = -1, concatDim = -1;
  ReshardState after;
};

class ReshardMoves {
public:
  using Visitor = llvm::function_ref<void(ReshardMove)>;

  /// A way may lead over the atoms of `spread`, which neither side names.
  ReshardMoves(const ReshardSpace &space, const CostModel &model, AtomList spread = {});

  /// Visits all that may help to get to the goal; only reductions, and the exchange, where it is not `isWide`.
  void visit(const ReshardState &state, const ReshardState &goal, bool mayExchange, bool isWide, Visitor visit) const;

  /// One exchange to where the goal lies; the state may not have partial sums.
  ReshardMove exchange(const ReshardState &state, const ReshardState &goal) const;

  /// Of a move from the state, of which a device holds so many bytes.
  CollectiveCost price(const ReshardMove &move, const ReshardState &before, double heldBytes) const;

  /// Where atoms do not describe the source or the target, or do not exist: what is pending is reduced, then comes one
  /// exchange over every axis that either names, and what is a partial sum from then on is on the first devices.
  ReshardPlan planDirectly(const spmd::Sharding &source, const spmd::Sharding &target) const;

private:
  static void visitGathers(const ReshardState &state, Visitor visit);
  void visitSlices(const ReshardState &state, const ReshardState &goal, Visitor visit) const;
  static void visitAllToAlls(const ReshardState &state, Visitor visit);
  static void visitPartialSums(const ReshardState &state, const ReshardState &goal, Visitor visit);
  static void visitReductions(const ReshardState &state, const ReshardState &goal, Visitor visit);

  const ReshardSpace &space;
  const CostModel &model;
  const AtomList spread;
  std::vector<LinkRates> ratesOfAtom;
};

} // namespace spmdc
