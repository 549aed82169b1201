//===- ShardingGraph.h - variable shardings and their prices ----*- C++ -*-===//
//
// The propagated program as a graph: variables are the shardings that are not annotated, operations have prices. The
// types in the program are the state. The price of a change of variables is that of the operations that touch them,
// each with its cheapest strategy for the shardings around it (Strategy.h).
//
//===----------------------------------------------------------------------===//
#pragma once

#include "passes/assign/FollowedShardings.h"
#include "passes/cost/RunCounts.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SetVector.h"

#include <vector>

namespace spmdc {

/// New shardings, by variable.
using ShardingChange = llvm::MapVector<unsigned, ShardingAttr>;

/// The variables of a function, and the prices of its operations.
class ShardingGraph {
public:
  /// Groups of values that become variables although they are parameters or annotated. A group has one sharding.
  using Freed = std::vector<llvm::SmallVector<mlir::Value>>;

  ShardingGraph(mlir::func::FuncOp func, ReshardPlanner &planner, const Freed &freed = {});

  /// All operations that may send something, in program order.
  llvm::ArrayRef<mlir::Operation *> getOps() const { return ops; }

  /// The results of the loop or branch that the operands of a terminator become; empty for the condition of a loop.
  static mlir::ValueRange getYielded(mlir::Operation *terminator);

  /// The variable of a value; none if its sharding is fixed.
  std::optional<unsigned> getVariable(mlir::Value value) const;
  unsigned getVariableCount() const { return static_cast<unsigned>(variables.size()); }
  /// A value of the variable, for its type and location.
  mlir::Value getValue(unsigned variable) const { return variables[variable].front(); }
  ShardingAttr getSharding(unsigned variable) const;
  /// Whether a variable may have this sharding: devices must hold no more of it than now, or than `setMaxHeldBytes`
  /// allows.
  bool mayHaveSharding(unsigned variable, ShardingAttr sharding) const;
  /// Sets the bytes that a device may hold of a value, even if propagation has given the value a smaller shard.
  void setMaxHeldBytes(int64_t bytes) { maxHeldBytes = bytes; }
  /// The bytes of the largest shard of any variable now.
  int64_t getLargestShard() const;

  /// The sharding rule of an operation that is partitioned by one; null for any other.
  const ShardingRule *getRule(mlir::Operation *op) const {
    const OperationFacts *facts = choices.find(op);
    return facts ? &facts->operationRule.rule : nullptr;
  }
  /// The cached strategies of operations with a sharding rule.
  const StrategyCache &getStrategies() const { return choices; }
  /// The price of the operation, or of the edges of a loop, branch or return, times the iterations of the loops around.
  Price price(mlir::Operation *op);

  /// How often the operation runs, at least once. estimateIterations estimates the iterations of a `while`.
  double countRuns(mlir::Operation *op);
  /// The number of operations that may share a window, including this one.
  size_t countWindowUsers(mlir::Operation *op) const { return std::max<size_t>(1, families.getFamily(op).size()); }

  /// The sum of the prices of all operations.
  Price priceAll();
  /// The sum of the prices of all operations, in which a reshard of one value that several operations share counts
  /// once.
  Price priceWithSharedReshards();

  /// The work so far; the unit is one choice of a strategy for an operation.
  double getWork() const {
    return work + kWorkOfExploring * static_cast<double>(planner.getExplored() - exploredBefore);
  }

  /// Adds the work of listing this many assignments of axes.
  void addWork(size_t count) { work += static_cast<double>(count) / StrategyCache::kStrategiesPerWork; }

  /// The operations whose price a change may affect: those that touch a variable, and those that may share a window or
  /// a reduction with one of them.
  llvm::SetVector<mlir::Operation *> getTouched(const ShardingChange &change) const;
  /// Gives variables their new shardings, and returns the change that undoes this.
  ShardingChange apply(const ShardingChange &change);
  /// The values that a variable gives one sharding.
  llvm::ArrayRef<mlir::Value> getValues(unsigned variable) const { return variables[variable]; }
  /// The change that gives all variables their current shardings.
  ShardingChange getState() const;

  /// Extends a change to variables that can follow without communication: through operations that map each element to
  /// one element, and along the edges of loops, up to `radius` operations away. With `isFar` also through contractions
  /// and reductions, along the dimensions that they share: a whole attention changes from its heads to its batch.
  void follow(ShardingChange &change, unsigned radius, bool isFar = false);

private:
  /// The work of one sharding that the reshard planner explores, relative to one choice of a strategy.
  static constexpr double kWorkOfExploring = 0.01;

  void addVariables(mlir::func::FuncOp func);
  void addVariable(llvm::ArrayRef<mlir::Value> values);
  bool isFree(mlir::Value value) const;
  /// The local bytes of the variable in this sharding.
  int64_t getShardBytes(unsigned variable, ShardingAttr sharding) const;
  /// Adds the shardings that follow from one value's sharding for the other values around an operation.
  void followThrough(mlir::Operation *op, mlir::Value value, ShardingAttr sharding, bool isFar, ShardingChange &change);

  const spmd::MeshShape &mesh;
  const CostModel &model;
  ReshardPlanner &planner;
  const int64_t exploredBefore;
  std::vector<llvm::SmallVector<mlir::Value, 2>> variables;
  llvm::DenseMap<mlir::Value, unsigned> variableOf;
  std::vector<mlir::Operation *> ops;
  WindowFamilies families;
  RunCounts runs;
  StrategyCache choices;
  FollowedShardings followed;
  double work = 0;
  int64_t maxHeldBytes = 0;
};

} // namespace spmdc
