//===- RangeBuilder.h - computes ranges of values on their own ---*- C++ -*-===//
#pragma once

#include "passes/cost/RunCounts.h"
#include "passes/restructure/FactorRanges.h"
#include "passes/strategy/Strategy.h"

#include "llvm/ADT/DenseSet.h"

namespace spmdc {

/// The range that a slice takes of one dimension, or of none; none where it takes of several, or not each element.
std::optional<DimRange> getDimRange(SliceOp slice);

/// Whether a range of the operation's result is computed from ranges of its operands, or all of them.
bool canTakeRanges(mlir::Operation *op);

/// Builds what computes ranges of values beside what computes them whole, and says which sends less.
class RangeBuilder {
public:
  RangeBuilder(ReshardPlanner &planner, RunCounts &runs) : planner(planner), runs(runs) {}

  /// Begins anew; ranges of what these operations compute are computed, of all other values taken.
  void start(llvm::ArrayRef<mlir::Operation *> ops);

  /// The range of a value for an operation, of this type where it is computed or taken. Null where that has no
  /// sharding.
  mlir::Value take(mlir::Value value, DimRange range, ArrayType type, mlir::Operation *user);

  /// A copy of the operation, in front of it, for these operands.
  mlir::Operation *clone(mlir::Operation *op, llvm::ArrayRef<mlir::Value> operands, ArrayType type);
  /// Notes an operation that has been built, and whether it moves elements.
  void note(mlir::Operation *op, bool isMover);

  /// Whether what has been built sends less than these operations do, and takes no longer to do that.
  bool isBetterThan(llvm::ArrayRef<mlir::Operation *> movers);
  /// Removes what has been built.
  void discard();

  /// Values of which ranges have been taken.
  llvm::ArrayRef<mlir::Value> getSources() const { return sources; }
  const spmd::MeshShape &getMesh() const { return planner.getMesh(); }

private:
  mlir::Value compute(mlir::Operation *op, DimRange range, ArrayType type);
  mlir::Value slice(mlir::Value value, DimRange range, ArrayType type, mlir::Operation *user);

  ReshardPlanner &planner;
  RunCounts &runs;
  llvm::DenseSet<mlir::Operation *> computed;
  llvm::DenseMap<std::pair<mlir::Operation *, int64_t>, mlir::Value> known; ///< By where the range begins.
  llvm::SmallVector<mlir::Operation *> built, movers;
  llvm::SmallVector<mlir::Value> sources;
};

} // namespace spmdc
