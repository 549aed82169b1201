//===- StrategyTable.h - strategies of one operation ------------*- C++ -*-===//
#pragma once

#include "passes/strategy/ComputeTime.h"
#include "passes/strategy/Strategy.h"

namespace spmdc {

/// Whether all assignments between these shardings can be cached in the operation's rule: they name no part of an axis.
bool canCacheFactorAxes(const std::vector<spmd::Sharding> &operands, const spmd::Sharding &result);

/// Makes table entries (StrategyEntry) of assignments for one operation. The properties of an assignment that do not
/// depend on the shardings around the operation are computed on demand, and cached in the operation's rule.
class StrategyTable {
public:
  /// All references have to outlive this object.
  StrategyTable(const spmd::MeshShape &mesh, ShardingRuleOpInterface op, const OperationRule &operationRule,
                const ComputeTime &computeTime)
      : mesh(mesh), op(op), operationRule(operationRule), computeTime(computeTime) {}

  std::vector<StrategyEntry> of(std::vector<FactorAxes> listed) const;

  /// Calls `visit` with every assignment between these shardings; cached if none of them names a part of an axis.
  void visitAll(const std::vector<spmd::Sharding> &operands, const spmd::Sharding &result,
                llvm::function_ref<void(std::vector<StrategyEntry> &)> visit) const;

  /// Whether shardings express the assignment; if so, sets those of the entry's strategy.
  bool tryAssign(StrategyEntry &option) const;
  /// The same for a strategy whose axes are given.
  bool tryAssign(Strategy &strategy) const;

private:
  const spmd::MeshShape &mesh;
  mutable ShardingRuleOpInterface op;
  const OperationRule &operationRule;
  const ComputeTime &computeTime;
};

} // namespace spmdc
