//===- ShardingSearch.h - local search for better shardings --------*- C++ -*-===//
//
// The searches of spmdc-choose-shardings over the shardings of a function's values, by the price of all its operations
// (ShardingGraph.h): local searches, then the exact solver.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "passes/assign/StartingChanges.h"
#include "passes/strategy/StrategyMemo.h"

namespace spmdc {

class ShardingSearch {
public:
  /// `effort`: the most strategies that are priced in each of the three searches. `trials`: the strategies of trial
  /// partitions (Partitioning.h), for all versions of the function. All references have to outlive this object.
  ShardingSearch(mlir::func::FuncOp func, ReshardPlanner &planner, StrategyMemo &trials, double effort)
      : func(func), planner(planner), trials(trials), graph(func, planner), startingChanges(graph, planner.getMesh()),
        effort(effort) {}

  /// Runs all searches and applies the best shardings (docs/sharding-search.md):
  /// 1. If a loop slices an array along a sharded dimension: shards another dimension, if that is much faster; else,
  ///    for a carry of the loop, replicates the dimension, if the gain is worth the memory. The searches 2 to 4 start
  ///    from this state, and the best result is kept.
  /// 2. A local search around single operations.
  /// 3. A search that first changes entire layers, which improvements around single operations would prevent.
  /// 4. Search 3 with more memory per value than propagation uses. Its result is kept only if it is faster by more than
  ///    the model's error and sends no more.
  /// 5. From the best so far, operands are resharded for single operations.
  /// 6. The exact solver (ExactSolver.h).
  void run();

  Price getPrice() { return graph.priceWithSharedReshards(); }

  /// Emits how far the result is from a lower bound, if one is known, and a remark for each operation that sends now or
  /// sent before `run`, and whose result has a new sharding.
  void emitRemarks();

private:
  void search(bool goesFar);
  void reshardOperands();
  void findTogether(const ShardingChange &propagated, ShardingChange &best);
  void avoidShardedSlices(mlir::Operation *op);
  llvm::SmallVector<mlir::Operation *> listSending();
  bool isSpent() const { return graph.getWork() >= limit; }
  std::optional<Price> improve(mlir::Operation *op, std::vector<ShardingChange> *undos = nullptr);
  bool improveFar(mlir::Operation *op, double farLimit);
  bool improveTogether(mlir::Operation *op);
  void make(const ShardingChange &change, std::vector<ShardingChange> *undos);
  void traceTried(mlir::Operation *op, const ShardingChange &change, const Price &gain) const;
  Price getGain(const ShardingChange &change);

  mlir::func::FuncOp func;
  ReshardPlanner &planner;
  StrategyMemo &trials;
  ShardingGraph graph;
  StartingChanges startingChanges;
  const double effort;
  std::optional<double> bound; ///< A lower bound on the seconds of all operations, for any shardings.
  double limit = 0;            ///< The work at which the current search stops.
  llvm::SmallVector<std::pair<mlir::Operation *, llvm::SmallVector<mlir::Type>>> before; ///< Types of results.
  llvm::SmallVector<mlir::Operation *> sentBefore;
};

} // namespace spmdc
