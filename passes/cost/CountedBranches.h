//===- CountedBranches.h - which branch of a conditional counts -*- C++ -*-===//
#pragma once

#include "ir/spmd/SpmdOps.h"
#include "passes/cost/RunCounts.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/DenseMap.h"

namespace spmdc {

/// Decides which branches of conditionals count in the sums of reports and budgets. If the compiler knows how often
/// each branch runs (RunCounts.h), both count that often. Otherwise one counts, so that the sums are an upper bound of
/// the bytes sent: the branch that sends more bytes, then the one with more FLOP, then the first. The body of a loop
/// with a known number of iterations counts that often.
class CountedBranches {
public:
  CountedBranches(mlir::func::FuncOp func, MeshAttr mesh);

  /// Whether all branches around the operation count.
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

/// The FLOP of one execution of an operation on one device: 2 for each multiply-add of a contraction, 1 for each
/// element of other arithmetic.
double countFlops(mlir::Operation *op);

} // namespace spmdc
