//===- ShardedAxes.h - over which axes devices hold different data --*- C++ -*-===//
//
// Where a value of one device's program is cut over a mesh axis, or a partial sum over it, devices along the axis hold
// different data, and nothing compares what they hold; where it is whole, they must agree in every bit. What is cut
// follows from the arguments' global types and from the collectives:
//
//   an argument                   whole axes that cut its global type, or over which it is a partial sum
//   axis_index, shard_start, ...  their whole axes
//   all_slice, all_to_all,        what the operand is cut over, and the collective's whole axes
//   reduce_scatter
//   all_reduce, all_gather,       what the operand is cut over, without the collective's axes
//   collective_permute,
//   collective_broadcast
//   exchange                      whole axes that cut its target
//   the carry of a loop           what its init is cut over
//   anything else                 what any operand is cut over
//
// What is missing here may be cut all the same (parts of axes always are): VaryingAxes.h errs the other way.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "ir/spmd/SpmdOps.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/DenseMap.h"

#include <set>
#include <string>

namespace spmdc {

class ShardedAxes {
public:
  /// Of a function whose arguments have their global types (spmdc-partition).
  explicit ShardedAxes(mlir::func::FuncOp func);

  /// Whether the value is cut over each of these axes.
  bool isShardedOver(mlir::Value value, AxesAttr axes) const;

private:
  using Axes = std::set<std::string>;

  void visit(mlir::Block &block);
  void visit(mlir::Operation *op);
  void visitRegions(mlir::Operation *op);
  const Axes &of(mlir::Value value) const;

  llvm::DenseMap<mlir::Value, Axes> cut;
};

} // namespace spmdc
