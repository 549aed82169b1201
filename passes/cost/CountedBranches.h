//===- CountedBranches.h - which arm of a branch counts -------------*- C++ -*-===//
#pragma once

#include "ir/spmd/SpmdOps.h"
#include "passes/cost/RunCounts.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/DenseMap.h"

namespace spmdc {

/// A device goes through one arm of a branch. Where it is known how often through which (RunCounts.h), both count, so
/// often. Otherwise a bound on what it sends counts the one that sends more; where both send as much, the one that
/// computes more; else the first. Loops of a known number of trips count as often.
class CountedBranches {
public:
  CountedBranches(mlir::func::FuncOp func, MeshAttr mesh);

  /// Whether the operation is in no other arm than those.
  bool counts(mlir::Operation *op) const;

  /// How often the operation runs (RunCounts::count).
  int64_t countRuns(mlir::Operation *op) { return runs.count(op); }

private:
  struct Amount {
    double bytes = 0, operations = 0;
  };
  Amount amountOf(mlir::Block &block);
  Amount amountOf(mlir::Operation &op);

  MeshAttr mesh;
  RunCounts runs;
  llvm::DenseMap<mlir::Operation *, unsigned> chosen;
};

/// Operations of one device for one run of an operation: two for each product and sum of a contraction.
double countFlops(mlir::Operation *op);

} // namespace spmdc
