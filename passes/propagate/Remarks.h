//===- Remarks.h - why propagation decided as it did ------------*- C++ -*-===//
//
// MLIR remarks at the operations' places: one for every change while propagation runs (who extended whom), and at the
// end one for every array that does not follow its operation's other arrays, with what keeps it from doing so. The
// latter are the places where data will have to move.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "passes/propagate/Propagator.h"

namespace spmdc {

class RemarkEmitter : public PropagationObserver {
public:
  explicit RemarkEmitter(const PropagationState &state) : state(state) {}

  void extended(const PropagationState::OpEntry &op, unsigned tensor, unsigned dim, const ShardingProjection &before,
                const ShardingProjection &after, PropagationStrategy strategy) override;

  /// To be called after propagation.
  void reportDisagreements();

private:
  void reportDisagreements(const PropagationState::OpEntry &op);
  void reportDisagreement(const PropagationState::OpEntry &op, const ShardingProjection &projection, unsigned tensor,
                          int64_t factor, unsigned leader);

  const PropagationState &state;
};

} // namespace spmdc
