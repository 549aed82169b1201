//===- LocalSearch.h - shardings with which less is sent -----*- C++ -*-===//
//
// A local search over the shardings of a function's values, by the price of all its operations (ShardingGraph.h).
//
//===----------------------------------------------------------------------===//
#pragma once

#include "passes/assign/StartingChanges.h"

namespace spmdc {

class LocalSearch {
public:
  /// `effort`: how many ways to run an operation are priced at most, in each of three searches.
  LocalSearch(mlir::func::FuncOp func, ReshardPlanner &planner, double effort)
      : func(func), planner(planner), graph(func, planner), ways(graph, planner.getMesh()), effort(effort) {}

  /// First, loops that pick parts along a cut dimension have another one cut, where that is faster by far, or, of what
  /// they carry, none, where that is worth the memory. Then one search after another from there; the best one is kept.
  /// Around single operations; through whole layers first, which improvements around single operations would keep where
  /// they are; and so that devices may hold more of a value than propagation gave them, where that is faster by more
  /// than the model can be wrong and sends no more. Last of all, from there, operands are brought to single operations.
  void run();

  OperationPrice getPrice() { return graph.priceTogether(); }

  /// How far the outcome is from a bound for all others, where one is known; and a remark for each operation that
  /// sends, or sent before it was run, and whose result lies otherwise than then.
  void emitRemarks();

private:
  void search(bool goesFar);
  void bringOperands();
  void findTogether(const ShardingChange &propagated, ShardingChange &best);
  void cutWhatIsPicked(mlir::Operation *op);
  llvm::SmallVector<mlir::Operation *> listSending();
  bool isSpent() const { return graph.getWork() >= limit; }
  std::optional<OperationPrice> improve(mlir::Operation *op, std::vector<ShardingChange> *undos = nullptr);
  bool improveFar(mlir::Operation *op, double farLimit);
  bool leap(mlir::Operation *op);
  void make(const ShardingChange &change, std::vector<ShardingChange> *undos);
  OperationPrice getGain(const ShardingChange &change);

  mlir::func::FuncOp func;
  ReshardPlanner &planner;
  ShardingGraph graph;
  StartingChanges ways;
  const double effort;
  std::optional<double> bound; ///< What all operations take at least, whatever the shardings; in seconds.
  double limit = 0;            ///< Of the work, for the search that is under way.
  llvm::SmallVector<std::pair<mlir::Operation *, llvm::SmallVector<mlir::Type>>> before; ///< Types of results.
  llvm::SmallVector<mlir::Operation *> sentBefore;
};

} // namespace spmdc
