//===- VaryingAxes.h - over which axes a per-device value differs -*- C++ -*-===//
//
// In a manual region every value either is the same on all devices along a mesh axis or varies over it, as in JAX's
// varying types (shard_map's `vma`). What varies follows from the pieces that the region gets and from its collectives:
//
//   an operand's piece      the axes that cut the operand; of a region within another one, what it varies over, too
//   axis_index              its axes
//   all_reduce, all_gather  what the operand varies over, without the collective's axes
//   other collectives       what the operand varies over, and the collective's axes
//   an arm of a branch,     also what the condition varies over: not every device comes by
//   the body of a while
//   the carry of a loop     what its init and the yielded value vary over
//   a region within         what the body yields, without the region's own axes
//   gradients               all that anything in the function varies over: they are per device, with no hidden sum
//   anything else           what any operand varies over
//
// Axes are the region's manual ones: along the others its values are arrays of the whole program.
//
// A result may be claimed the same over an axis only if it does not vary over it; and a transposed program sums the
// cotangent of a value over the axes over which it varies and the value does not.
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

  /// Of all values in the block, for arguments that vary over these axes. The block need not be complete.
  VaryingAxes(mlir::Block &block, llvm::ArrayRef<Axes> arguments);
  explicit VaryingAxes(ManualOp op);

  /// Empty for values from outside.
  const Axes &of(mlir::Value value) const;

  /// What a collective takes may vary over its axes, and over what its result varies.
  Axes ofOperands(mlir::Operation *op) const;

  /// A value that is what another one is, elsewhere.
  void copy(mlir::Value value, mlir::Value original) { varying[value] = Axes(of(original)); }

  /// All axes over which any value varies that the operation uses, computes or, in its regions, comes by. Those that
  /// only a region within makes manual are left out.
  Axes ofAll(mlir::Operation *op) const;
  /// Takes all values in the regions of an operation to vary over these axes; in a manual region within, over those of
  /// its own as before.
  void setInside(mlir::Operation *op, const Axes &axes);

  /// Lets the arguments of a block within vary over these axes, and what follows from them.
  void widen(mlir::Block &block, const Axes &axes);

  /// The axes that cut an array of this type.
  static Axes getCutting(ArrayType type);

private:
  void visit(mlir::Block &block);
  void visit(mlir::Operation *op);
  void visitRegions(mlir::Operation *op);
  /// Adds axes to what is known of a value.
  void join(mlir::Value value, const Axes &axes);

  llvm::DenseMap<mlir::Value, Axes> varying;
  Axes context; ///< What the conditions around vary over.
  bool hasChanged = false;
};

/// A collective that not all devices of its group reach: what decides whether they do varies over `axes` of the group.
/// (Where whole groups go different ways, spmdc-align-collectives lets all of them make the call.)
struct DividedCollective {
  mlir::Operation *collective;
  mlir::Operation *control; ///< The `if` or `while`.
  VaryingAxes::Axes axes;
};

/// The first one in the block.
std::optional<DividedCollective> findDividedCollective(mlir::Block &block, const VaryingAxes &varying);

} // namespace spmdc
