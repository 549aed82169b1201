//===- Activity.h - the values that a derivative flows through --*- C++ -*-===//
#pragma once

#include "mlir/IR/Block.h"
#include "mlir/IR/Operation.h"
#include "llvm/ADT/DenseSet.h"

namespace spmdc {

/// The values through which a derivative flows: floats that depend on its arguments, through operations that have a
/// derivative (or that should, so that the sweep reports them).
class Activity {
public:
  /// Makes the argument of a derivative active.
  void addArgument(mlir::Value argument);
  /// Follows active values forward through a block and the regions in it.
  void follow(mlir::Block &block);

  bool isActive(mlir::Value value) const { return active.contains(value); }

private:
  void follow(mlir::Operation *op);
  void followRegions(mlir::Operation *op);
  void markIf(mlir::Value value, bool isActive);

  llvm::DenseSet<mlir::Value> active;
};

} // namespace spmdc
