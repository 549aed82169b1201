//===- StrategyTable.h - ways to run one operation --------*- C++ -*-===//
#pragma once

#include "passes/strategy/ComputeTime.h"
#include "passes/strategy/Strategy.h"

namespace spmdc {

/// Whether every assignment between these shardings is one of an operation's traits: they name no part of an axis.
bool mayRememberFactorAxes(const std::vector<spmd::Sharding> &operands, const spmd::Sharding &result);

/// Assignments as candidates for one operation: what follows from each whatever the shardings around it is found when
/// it is first asked for, and remembered with the operation's traits.
class StrategyTable {
public:
  /// All have to stay.
  StrategyTable(const spmd::MeshShape &mesh, ShardingRuleOpInterface op, const OperationRule &traits,
                const ComputeTime &computeTime)
      : mesh(mesh), op(op), traits(traits), computeTime(computeTime) {}

  std::vector<StrategyEntry> of(std::vector<FactorAxes> listed) const;

  /// Every assignment between these shardings. Where none of them names a part of an axis they are the same each time.
  void visitAll(const std::vector<spmd::Sharding> &operands, const spmd::Sharding &result,
                llvm::function_ref<void(std::vector<StrategyEntry> &)> visit) const;

  /// Whether there are shardings for the assignment; then the candidate's choice has them.
  bool tryAssign(StrategyEntry &candidate) const;
  /// The same for a choice, of which the axes are given.
  bool tryAssign(Strategy &choice) const;

private:
  const spmd::MeshShape &mesh;
  mutable ShardingRuleOpInterface op;
  const OperationRule &traits;
  const ComputeTime &computeTime;
};

} // namespace spmdc
