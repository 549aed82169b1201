//===- StartingChanges.h - changes around one operation ---------*- C++ -*-===//
#pragma once

#include "passes/assign/ShardingGraph.h"

namespace spmdc {

/// Lists the changes of shardings with which a search begins.
class StartingChanges {
public:
  /// The most changes around one operation that are tried: those that are best for the operation itself, and those that
  /// may help only together with others.
  static constexpr size_t kMaxStarts = 12, kMaxTogether = 40;

  StartingChanges(ShardingGraph &graph, const spmd::MeshShape &mesh) : graph(graph), mesh(mesh) {}

  /// Whether one operation may reshard an operand to a sharding that the value itself may not have (a weight that is
  /// gathered in each layer). False by default: such strategies are not tried.
  void setReshardsOperands(bool brings) { reshardsOperands = brings; }

  /// Changes of the variables around one operation with which it sends less (with `mayCostMore`: any), the best for the
  /// operation first. Stops when the graph's work reaches `limit`.
  std::vector<ShardingChange> list(mlir::Operation *op, double limit, bool mayCostMore = false);

  /// If each iteration of a loop reads a part of an array along a sharded dimension, one device holds that part, and
  /// the others repeat its computation. Returns the changes that shard another dimension over these axes instead.
  std::vector<ShardingChange> listOtherDimChanges(mlir::Operation *op);
  /// For a carry of the loop, which cannot be resharded once for all iterations: the change that shards no dimension
  /// over these axes, so that each device holds more. None for any other array.
  std::optional<ShardingChange> findReplicatedChange(mlir::Operation *op);

private:
  void listAround(ShardingRuleOpInterface op, double limit, llvm::function_ref<void(const ShardingChange &)> consider);
  void listEdges(mlir::Operation *op, llvm::function_ref<void(const ShardingChange &)> consider);
  bool mayHaveSharding(mlir::Value value, const spmd::Sharding &sharding) const;
  bool isSliced(mlir::Operation *op, size_t dim) const;
  AxisRefs takeSlicedAxes(mlir::Operation *op, spmd::Sharding &sharding) const;
  std::optional<ShardingChange> changeOperand(mlir::Operation *op, const spmd::Sharding &sharding);
  bool add(ShardingChange &change, mlir::Value value, const std::optional<spmd::Sharding> &sharding);

  ShardingGraph &graph;
  const spmd::MeshShape &mesh;
  bool reshardsOperands = false;
};

} // namespace spmdc
