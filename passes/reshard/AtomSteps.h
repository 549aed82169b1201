//===- AtomSteps.h - the possible next steps of a reshard ----*- C++ -*-===//
#pragma once

#include "passes/reshard/ReshardPlan.h"
#include "passes/reshard/ReshardSpace.h"

namespace spmdc {

/// A step of the search for a plan, over atoms. ReshardStep is the same step over axes, in the finished plan.
struct AtomStep {
  ReshardStep::Kind kind = ReshardStep::Kind::AllGather;
  AtomList atoms;
  int64_t from = -1; ///< The dimension that loses the atoms at its minor end; -1: none.
  int64_t to = -1;   ///< The dimension that gets them at its minor end; -1: none. An exchange has neither.

  bool isReduction() const { return kind == ReshardStep::Kind::AllReduce || kind == ReshardStep::Kind::ReduceScatter; }
  /// Whether it makes partial sums.
  bool makesSums() const { return kind == ReshardStep::Kind::KeepOnFirst || kind == ReshardStep::Kind::PlaceInZeros; }
  /// The state after a step that is not an exchange.
  ReshardState apply(const ReshardState &before) const;
};

/// Lists the steps that may follow a state on a path to the goal, and prices them.
class AtomSteps {
public:
  using Visitor = llvm::function_ref<void(const AtomStep &)>;

  /// `spread`: atoms over which both sides are replicated; a plan may shard over them, so that each device sends a part
  /// (spread transfers, ReshardPlanner.h). A partial sum has `partialScale` times as many bytes as an element of the
  /// array (ir/spmd/ReducePrecision.h).
  AtomSteps(const ReshardSpace &space, const CostModel &model, double partialScale, AtomList spread = {});

  /// Visits all steps that may lead to the goal, except exchanges; if not `isWide`, only those that reduce or make
  /// partial sums.
  void visit(const ReshardState &state, const ReshardState &goal, bool isWide, Visitor visit) const;

  /// The cost of a step between states with this many local bytes.
  CollectiveCost price(const AtomStep &move, double before, double after) const;

  /// The exchange between two states without partial sums.
  AtomStep exchange(const ReshardState &state, const ReshardState &after) const;
  CollectiveCost priceExchange(const AtomStep &exchange, const ReshardState &before, const ReshardState &after) const;

  /// The plan for shardings that atoms do not describe, or without common atoms: an all_reduce of the partial sums, one
  /// exchange over every axis that either names, and a step that keeps values on the first devices if the target is
  /// unreduced over further axes.
  ReshardPlan planDirectly(const spmd::Sharding &source, const spmd::Sharding &target) const;

private:
  static void visitGathers(const ReshardState &state, Visitor visit);
  void visitSlices(const ReshardState &state, const ReshardState &goal, Visitor visit) const;
  static void visitAllToAlls(const ReshardState &state, Visitor visit);
  static void visitPartialSums(const ReshardState &state, const ReshardState &goal, Visitor visit);
  static void visitReductions(const ReshardState &state, const ReshardState &goal, Visitor visit);

  CollectiveCost costOf(const AtomStep &move, double bytes, double peakBytes) const;

  const ReshardSpace &space;
  const CostModel &model;
  const double partialScale;
  const AtomList spread;
  std::vector<LinkRates> ratesOfAtom;
};

} // namespace spmdc
