//===- Propagator.h - propagation to the fixed point ------------*- C++ -*-===//
//
// The nested loops of propagation, from the outside in:
//
//   user priorities   annotations of priority 0 to the fixed point, then those of priority 1 in addition, ...
//   stages            pass-through operations before contractions before forward broadcasts (OpKind.h)
//   fixed point       sweeps over the operations, in program order and in reverse by turns, until nothing changes
//   strategy          the step on the factors of one operation (FactorPropagation.h)
//
// A step only extends the axes of open dimensions, so the sweeps terminate. Operations are visited in program order, so
// the result depends neither on hashing nor on other functions.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "passes/propagate/FactorPropagation.h"
#include "passes/propagate/PropagationState.h"

#include "llvm/ADT/BitVector.h"

namespace spmdc {

class PropagationObserver;

/// Propagates shardings in a PropagationState.
class Propagator {
public:
  /// `observer` may be null.
  Propagator(PropagationState &state, PropagationStrategy strategy, PropagationObserver *observer)
      : state(state), strategy(strategy), observer(observer) {}

  void run();

private:
  void runToFixPoint(unsigned stage, PropagationStrategy stepStrategy);
  /// Displaces the axes of dimensions that operations need replicated (PropagationStrategy::Displace). Runs last.
  void displace();
  /// One step on one operation; returns whether anything changed.
  bool step(unsigned opIndex, unsigned stage, PropagationStrategy stepStrategy);

  PropagationState &state;
  PropagationStrategy strategy;
  PropagationObserver *observer;
  llvm::BitVector pending; ///< Operations with an array that has changed since they were visited.
};

/// Gets a notification for every extension of a dimension.
class PropagationObserver {
public:
  virtual ~PropagationObserver() = default;
  /// A step on `op` has extended the axes of dimension `dim` of its array `tensor` (operands first). `before` and
  /// `after` are the operation's projections before and after the step.
  virtual void extended(const PropagationState::OpEntry &op, unsigned tensor, unsigned dim,
                        const ShardingProjection &before, const ShardingProjection &after,
                        PropagationStrategy strategy) = 0;
};

} // namespace spmdc
