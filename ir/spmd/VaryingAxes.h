//===- VaryingAxes.h - axes over which a value varies -----------*- C++ -*-===//
//
// In a manual region every value either is the same on all devices along a mesh axis or varies over it, as in JAX's
// varying types (shard_map's `vma`). That follows from the region's operands and its collectives:
//
//   an operand's shard      the axes that shard the operand; within another region, also those of the operand itself
//   axis_index              its axes
//   all_reduce, all_gather  the axes of the operand, without the collective's axes
//   other collectives       the axes of the operand, and the collective's axes
//   a region of a branch,   also the axes of the condition: not every device runs it
//   the body of a while
//   the carry of a loop     the axes of its init and of the yielded value
//   a region within         the axes of the yielded value, without the region's own axes
//   array.gradient          the axes of all values in the function: a gradient is the part of one device, not summed
//   other operations        the axes of all operands
//
// Axes are the region's manual ones: along the others its values are global arrays.
//
// A result may be declared replicated over an axis only if it does not vary over that axis. Differentiation sums a
// cotangent over the axes over which the cotangent varies and the primal value does not.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "ir/spmd/SpmdOps.h"

#include "llvm/ADT/DenseMap.h"

#include <optional>
#include <set>
#include <string>

namespace spmdc {

class VaryingAxes {
public:
  using Axes = std::set<std::string>;

  /// Analyzes all values in the block, for arguments that vary over these axes. The block may lack a terminator.
  VaryingAxes(mlir::Block &block, llvm::ArrayRef<Axes> arguments);
  explicit VaryingAxes(ManualOp op);

  /// The axes over which a value varies; empty for values from outside.
  const Axes &of(mlir::Value value) const;

  /// The axes over which operands are assumed to vary: those of the results, and for a collective also its own.
  Axes ofOperands(mlir::Operation *op) const;

  /// Gives `value` the axes of `original`, of which it is a copy.
  void copy(mlir::Value value, mlir::Value original) { varying[value] = Axes(of(original)); }

  /// All axes over which a value varies that the operation uses, computes, or has in its regions. Leaves out the axes
  /// that only a region within makes manual.
  Axes ofAll(mlir::Operation *op) const;
  /// Declares that all values in the regions of an operation vary over these axes; in a manual region within, its own
  /// axes do not change.
  void setInside(mlir::Operation *op, const Axes &axes);

  /// Declares that the arguments of a block within vary over these axes, and updates the values that depend on them.
  void widen(mlir::Block &block, const Axes &axes);

  /// The axes over which an array of this type is sharded.
  static Axes getShardingAxes(ArrayType type);

private:
  void visit(mlir::Block &block);
  void visit(mlir::Operation *op);
  void visitRegions(mlir::Operation *op);
  /// Adds axes to those of a value.
  void join(mlir::Value value, const Axes &axes);

  llvm::DenseMap<mlir::Value, Axes> varying;
  Axes context; ///< The axes of the conditions around the block.
  bool hasChanged = false;
};

/// A collective that some devices of its group may not reach: the condition that decides this varies over `axes` of the
/// group. (If entire groups take different branches, spmdc-align-collectives makes all of them take part.)
struct DividedCollective {
  mlir::Operation *collective;
  mlir::Operation *control; ///< The `if` or `while`.
  VaryingAxes::Axes axes;
};

/// Returns the first such collective in the block.
std::optional<DividedCollective> findDividedCollective(mlir::Block &block, const VaryingAxes &varying);

} // namespace spmdc
