//===- ShardedAxes.h - axes along which data differs ------------*- C++ -*-===//
//
// If a value of one device's program is sharded or unreduced over a mesh axis, devices along the axis hold different
// data, which is never compared. If it is replicated over the axis, the devices must agree in every bit. The axes of a
// value follow from the arguments' global types and from the collectives ("full" axes are not parts of axes):
//
//   an argument                   the full axes over which its global type is sharded or unreduced
//   axis_index, shard_start, ...  their full axes
//   all_slice, all_to_all,        the operand's axes, and the collective's full axes
//   reduce_scatter
//   all_reduce, all_gather,       the operand's axes, without the collective's axes
//   collective_permute,
//   collective_broadcast
//   exchange                      the full axes over which its target is sharded
//   the carry of a loop           the axes of its init
//   any other operation           the axes of all operands
//
// This analysis may miss an axis that shards the value (it always misses parts of axes). VaryingAxes
// (ir/spmd/VaryingAxes.h) may have an axis too many instead.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "ir/spmd/SpmdOps.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/DenseMap.h"

#include <set>
#include <string>

namespace spmdc {

/// The axes over which each value of a function is known to be sharded or unreduced.
class ShardedAxes {
public:
  /// Computes the axes of all values of a function whose arguments carry their global types (spmdc-partition).
  explicit ShardedAxes(mlir::func::FuncOp func);

  /// Whether the value is sharded or unreduced over each of these axes.
  bool isShardedOver(mlir::Value value, AxesAttr axes) const;

private:
  using Axes = std::set<std::string>;

  void visit(mlir::Block &block);
  void visit(mlir::Operation *op);
  void visitRegions(mlir::Operation *op);
  const Axes &of(mlir::Value value) const;

  llvm::DenseMap<mlir::Value, Axes> axesByValue;
};

} // namespace spmdc
