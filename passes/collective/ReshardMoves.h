//===- ReshardMoves.h - the collectives that lead on from a sharding --*- C++ -*-===//
#pragma once

#include "passes/collective/ReshardPlan.h"
#include "passes/collective/ReshardSpace.h"

namespace spmdc {

/// A step over atoms, with its price.
struct ReshardMove {
  ReshardStep::Kind kind = ReshardStep::Kind::AllGather;
  AtomList atoms;
  int64_t dim = -1, concatDim = -1;
  ReshardState after;
  CollectiveCost cost;
};

class ReshardMoves {
public:
  /// A way may lead over the atoms of `spread`, which neither side names.
  ReshardMoves(const ReshardSpace &space, const CostModel &model, AtomList spread = {});

  /// All that may help to get to the goal; only reductions, and the exchange, where it is not `isWide`.
  std::vector<ReshardMove> from(const ReshardState &state, const ReshardState &goal, bool mayExchange,
                                bool isWide) const;

  /// One exchange to where the goal lies; the state may not have partial sums.
  ReshardMove exchange(const ReshardState &state, const ReshardState &goal) const;

  /// Where atoms do not describe the source or the target, or do not exist: what is pending is reduced, then comes one
  /// exchange over every axis that either names, and what is a partial sum from then on is on the first devices.
  ReshardPlan planDirectly() const;

private:
  ReshardMove price(ReshardMove move, const ReshardState &before) const;
  void addGathers(const ReshardState &state, std::vector<ReshardMove> &moves) const;
  void addSlices(const ReshardState &state, const ReshardState &goal, std::vector<ReshardMove> &moves) const;
  void addAllToAlls(const ReshardState &state, std::vector<ReshardMove> &moves) const;
  void addPartialSums(const ReshardState &state, const ReshardState &goal, std::vector<ReshardMove> &moves) const;
  void addReductions(const ReshardState &state, const ReshardState &goal, std::vector<ReshardMove> &moves) const;

  const ReshardSpace &space;
  const CostModel &model;
  const AtomList spread;
  std::vector<LinkRates> ratesOfAtom;
};

} // namespace spmdc
