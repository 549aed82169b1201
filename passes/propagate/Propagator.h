//===- Propagator.h - propagation to the fix point --------------*- C++ -*-===//
//
// The layers, from the outside in, each a loop over the next:
//
//   user priorities   annotations of priority 0 first, to the end, then those of priority 1 beside them, ...
//   stages            pass-through operations before contractions before forward broadcasts (OpKind.h)
//   fix point         sweeps over the operations in program order, forward and backward in turn, until nothing changes
//   strategy          what one operation does with its factors (FactorPropagation.h)
//
// A step only ever lengthens the axes of an open dimension, so sweeps end. Operations are visited by their number in
// the program alone: the outcome depends neither on hashing nor on other functions.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "passes/propagate/FactorPropagation.h"
#include "passes/propagate/PropagationState.h"

#include "llvm/ADT/BitVector.h"

namespace spmdc {

class PropagationObserver;

class Propagator {
public:
  /// `observer` may be null.
  Propagator(PropagationState &state, PropagationStrategy strategy, PropagationObserver *observer)
      : state(state), strategy(strategy), observer(observer) {}

  void run();

private:
  void runToFixPoint(unsigned stage, PropagationStrategy stepStrategy);
  /// Axes of dimensions that operations need whole, last of all.
  void displace();
  /// Whether anything has changed.
  bool step(unsigned opIndex, unsigned stage, PropagationStrategy stepStrategy);

  PropagationState &state;
  PropagationStrategy strategy;
  PropagationObserver *observer;
  llvm::BitVector pending; ///< Operations with an array that has changed since they were visited.
};

/// Is told of every change: who extended what on which operation.
class PropagationObserver {
public:
  virtual ~PropagationObserver() = default;
  /// Dimension `dim` of the operation's array `tensor` (operands first) got its new axes in this step. `before` and
  /// `after` are the operation's projections around it.
  virtual void extended(const PropagationState::OpEntry &op, unsigned tensor, unsigned dim,
                        const ShardingProjection &before, const ShardingProjection &after,
                        PropagationStrategy strategy) = 0;
};

} // namespace spmdc
