//===- RangeBuilder.h - computes ranges of values ---------------*- C++ -*-===//
#pragma once

#include "passes/cost/RunCounts.h"
#include "passes/restructure/FactorRanges.h"
#include "passes/strategy/Strategy.h"

#include "llvm/ADT/DenseSet.h"

namespace spmdc {

/// The range of one dimension that a slice takes; nothing if it takes full size, slices several dimensions, or has
/// strides.
std::optional<DimRange> getDimRange(SliceOp slice);

/// Whether a range of the operation's result can be computed from ranges of its operands, or all of them.
bool canTakeRanges(mlir::Operation *op);

/// Builds operations that compute ranges of values beside those that compute full values, and compares what both send.
class RangeBuilder {
public:
  RangeBuilder(ReshardPlanner &planner, RunCounts &runs) : planner(planner), runs(runs) {}

  /// Discards the state. Ranges of results of `ops` are computed; ranges of other values are slices.
  void start(llvm::ArrayRef<mlir::Operation *> ops);

  /// The range of a value, of this type, for `user`. Null if no sharding expresses a range on the way.
  mlir::Value take(mlir::Value value, DimRange range, ArrayType type, mlir::Operation *user);

  /// A copy of the operation, inserted before it, with these operands.
  mlir::Operation *clone(mlir::Operation *op, llvm::ArrayRef<mlir::Value> operands, ArrayType type);
  /// Registers an operation that has been built, and whether it moves elements.
  void note(mlir::Operation *op, bool isMover);

  /// Whether the new moving operations send less than `movers`, and take no longer.
  bool isBetterThan(llvm::ArrayRef<mlir::Operation *> movers);
  /// Erases all operations that have been built.
  void discard();

  /// The values of which slices were built.
  llvm::ArrayRef<mlir::Value> getSources() const { return sources; }
  const spmd::MeshShape &getMesh() const { return planner.getMesh(); }

private:
  mlir::Value compute(mlir::Operation *op, DimRange range, ArrayType type);
  mlir::Value slice(mlir::Value value, DimRange range, ArrayType type, mlir::Operation *user);

  ReshardPlanner &planner;
  RunCounts &runs;
  llvm::DenseSet<mlir::Operation *> computed;
  llvm::DenseMap<std::pair<mlir::Operation *, int64_t>, mlir::Value> known; ///< By operation and start of the range.
  llvm::SmallVector<mlir::Operation *> built, movers;
  llvm::SmallVector<mlir::Value> sources;
};

} // namespace spmdc
