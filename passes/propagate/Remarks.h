//===- Remarks.h - the remarks of propagation (--remarks) -------*- C++ -*-===//
//
// Emits MLIR remarks at the operations' locations. While propagation runs, each extension of a dimension gets a remark
// with its source. At the end, each array whose sharding differs from the other arrays of its operation gets a remark
// with the reason; these operations may need a reshard.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "passes/propagate/Propagator.h"

namespace spmdc {

/// Emits the remarks of one function's propagation.
class RemarkEmitter : public PropagationObserver {
public:
  explicit RemarkEmitter(const PropagationState &state) : state(state) {}

  void extended(const PropagationState::OpEntry &op, unsigned tensor, unsigned dim, const ShardingProjection &before,
                const ShardingProjection &after, PropagationStrategy strategy) override;

  /// Emits the remarks on arrays that differ. Must be called after propagation.
  void reportDisagreements();

private:
  void reportDisagreements(const PropagationState::OpEntry &op);
  void reportDisagreement(const PropagationState::OpEntry &op, const ShardingProjection &projection, unsigned tensor,
                          int64_t factor, unsigned leader);

  const PropagationState &state;
};

} // namespace spmdc
