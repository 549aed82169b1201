//===- ShardingGraph.h - values whose sharding may change, and its price ---*- C++ -*-===//
//
// The propagated program as a graph: variables are the shardings that nobody wrote, operations are what they cost. The
// types in the program are the state; a change of variables is priced by the operations that touch them, each run in
// the cheapest way between the shardings around it (Strategy.h).
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

class ShardingGraph {
public:
  /// Values that may lie anywhere though they are parameters or marked, those of a group all alike.
  using Freed = std::vector<llvm::SmallVector<mlir::Value>>;

  ShardingGraph(mlir::func::FuncOp func, ReshardPlanner &planner, const Freed &freed = {});

  /// All operations that may send something, in program order.
  llvm::ArrayRef<mlir::Operation *> getOps() const { return ops; }

  /// What the operands of a terminator become: the results of the loop or branch; nothing for a condition.
  static mlir::ValueRange getYielded(mlir::Operation *terminator);

  /// The variable of a value; none where its sharding stays.
  std::optional<unsigned> getVariable(mlir::Value value) const;
  unsigned getVariableCount() const { return static_cast<unsigned>(variables.size()); }
  /// A value of the variable, for its type and place.
  mlir::Value getValue(unsigned variable) const { return variables[variable].front(); }
  ShardingAttr getSharding(unsigned variable) const;
  /// Whether a variable may lie so: devices hold no more of a value than they do now, or than `setMostHeld` allows.
  bool mayHaveSharding(unsigned variable, ShardingAttr sharding) const;
  /// How many bytes a device may hold of a value that propagation has cut finer.
  void setMostHeld(int64_t bytes) { mostHeld = bytes; }
  /// The bytes of the largest piece of a variable that a device holds now.
  int64_t getLargestPiece() const;

  /// Of an operation that is run by a sharding rule; null for any other.
  const ShardingRule *getRule(mlir::Operation *op) const {
    const OperationFacts *signature = choices.find(op);
    return signature ? &signature->traits.rule : nullptr;
  }
  /// What is known of such operations.
  const StrategyCache &getChoices() const { return choices; }
  /// What the operation, or the edges of a loop, a branch or a return, cost; times the trips of the loops around.
  OperationPrice price(mlir::Operation *op);

  /// How often the operation, or the edges, count; a loop that nobody knows to run at all does, too. Iterations of a
  /// `while` as getTrips takes them.
  double countRuns(mlir::Operation *op);
  /// How many may look at a window together, the operation included.
  size_t countWindowUsers(mlir::Operation *op) const { return std::max<size_t>(1, families.getFamily(op).size()); }

  /// Of all operations, each by itself.
  OperationPrice priceAll();
  /// The same where what several of them need of a value in one form is brought there once.
  OperationPrice priceTogether();

  /// What has been done so far, in choices made for an operation.
  double getWork() const {
    return work + kWorkOfExploring * static_cast<double>(planner.getExplored() - exploredBefore);
  }

  /// Notes that so many ways to run an operation have been listed.
  void addWork(size_t ways) { work += static_cast<double>(ways) / StrategyCache::kStrategiesPerWork; }

  /// The operations that touch a variable of the change, and those that may share a window with one of them.
  llvm::SetVector<mlir::Operation *> getTouched(const ShardingChange &change) const;
  /// Gives variables their new shardings, and returns what undoes that.
  ShardingChange apply(const ShardingChange &change);
  /// What gives all variables the shardings that they have now.
  ShardingChange getState() const;

  /// Extends a change to variables that can follow without communication: through operations that take each element to
  /// one element, and along the edges of loops; none that is more than `radius` operations away. A change that goes far
  /// goes through contractions and reductions, too, along the dimensions that they share: all of an attention from its
  /// heads to its batch.
  void follow(ShardingChange &change, unsigned radius, bool isFar = false);

private:
  /// Of one sharding that is looked at to find a reshard, beside the choice that needs it.
  static constexpr double kWorkOfExploring = 0.01;

  void addVariables(mlir::func::FuncOp func);
  void addVariable(llvm::ArrayRef<mlir::Value> values);
  bool isFree(mlir::Value value) const;
  /// Of the variable in this sharding, on a device.
  int64_t getPieceBytes(unsigned variable, ShardingAttr sharding) const;
  /// What one operation says about the values around it, if one of them lies so.
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
  int64_t mostHeld = 0;
};

} // namespace spmdc
