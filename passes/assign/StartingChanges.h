//===- StartingChanges.h - changes around one operation ------------*- C++ -*-===//
#pragma once

#include "passes/assign/ShardingGraph.h"

namespace spmdc {

/// Lists the changes of shardings with which a search begins.
class StartingChanges {
public:
  /// Changes around one operation that are tried, of those that are best for itself; and where few operations send
  /// anything, of those too that help only together with others.
  static constexpr size_t kMaxStarts = 12, kMaxLeaps = 40;

  StartingChanges(ShardingGraph &graph, const spmd::MeshShape &mesh) : graph(graph), mesh(mesh) {}

  /// Whether an operand that devices may not hold as an operation needs it is brought there for that alone, as a
  /// parameter is: a weight that is gathered in each layer. Otherwise there is no such way to run the operation.
  void setBringsOperands(bool brings) { bringsOperands = brings; }

  /// Changes of the variables around one operation that would have it send less (or otherwise), the best for itself
  /// first; those that are found before the graph's work has come to `limit`.
  std::vector<ShardingChange> list(mlir::Operation *op, double limit, bool mayCostMore = false);

  /// Where each iteration of a loop picks a part of an array along a cut dimension, one device has that part, and the
  /// others compute the same as it does: the ways to have another dimension cut.
  std::vector<ShardingChange> listUnpicked(mlir::Operation *op);
  /// The same for a carry of the loop, which no form can stand for in all iterations: no dimension is sharded over
  /// those axes, so that each device holds more; nothing for any other array.
  std::optional<ShardingChange> findUnpickedReplicated(mlir::Operation *op);

private:
  void listAround(ShardingRuleOpInterface op, double limit, llvm::function_ref<void(const ShardingChange &)> consider);
  void listEdges(mlir::Operation *op, llvm::function_ref<void(const ShardingChange &)> consider);
  bool mayHaveSharding(mlir::Value value, const spmd::Sharding &sharding) const;
  bool isPicked(mlir::Operation *op, size_t dim) const;
  AxisRefs takePickedAxes(mlir::Operation *op, spmd::Sharding &sharding) const;
  std::optional<ShardingChange> changeOperand(mlir::Operation *op, const spmd::Sharding &sharding);
  bool add(ShardingChange &change, mlir::Value value, const std::optional<spmd::Sharding> &sharding);

  ShardingGraph &graph;
  const spmd::MeshShape &mesh;
  bool bringsOperands = false;
};

} // namespace spmdc
