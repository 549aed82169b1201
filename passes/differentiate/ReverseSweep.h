//===- ReverseSweep.h - cotangents from results to arguments ----*- C++ -*-===//
#pragma once

#include "passes/differentiate/Activity.h"

#include "mlir/IR/Builders.h"
#include "llvm/ADT/MapVector.h"

namespace spmdc {

/// Goes backward over operations and builds the cotangents of all active values that they use.
///
/// Invariant: when an operation is reached, all its users have been, so that the cotangents of its results are
/// complete; each value's contributions are summed as they come.
class ReverseSweep {
public:
  explicit ReverseSweep(const Activity &activity) : activity(activity) {}

  /// Adds to a value's cotangent; nothing happens to a value that is not active.
  void add(mlir::OpBuilder &builder, mlir::Value value, mlir::Value cotangent);

  /// Differentiates the operations of the block as they are now. What is built goes to the builder's insertion point,
  /// which lies behind all of them. Fails with a diagnostic at an operation that has no derivative.
  mlir::LogicalResult run(mlir::Block &block, mlir::OpBuilder &builder);

  /// Null where nothing has reached the value.
  mlir::Value getCotangent(mlir::Value value) const { return cotangents.lookup(value); }

  /// All that was reached, in the order in which it was reached first.
  const llvm::MapVector<mlir::Value, mlir::Value> &getCotangents() const { return cotangents; }

private:
  mlir::LogicalResult differentiate(mlir::Operation *op, mlir::OpBuilder &builder);
  mlir::LogicalResult differentiateCheckpoint(mlir::Operation *op, mlir::OpBuilder &builder);

  const Activity &activity;
  llvm::MapVector<mlir::Value, mlir::Value> cotangents;
};

/// The source place of an operation without the name that `let` gave to its value: for what its derivative computes.
mlir::Location getDerivativeLoc(mlir::Operation *op);

/// The values that a region uses and that are defined outside of it, in order of their first use.
llvm::SmallVector<mlir::Value> getCaptured(mlir::Region &region);

} // namespace spmdc
