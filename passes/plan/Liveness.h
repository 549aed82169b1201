//===- Liveness.h - from when to when a value is needed ---------*- C++ -*-===//
//
// Steps of a function are numbered in program order. A reshape names the memory of its operand, so uses count for the
// value at the root of a chain of reshapes. The operand of a collective is needed until its plan.done, and its result's
// memory is taken from the plan.start on.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "ir/plan/PlanOps.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/MapVector.h"

namespace spmdc {

struct LiveRange {
  int64_t begin = 0, end = 0; ///< Steps, both inclusive.
  bool overlaps(const LiveRange &other) const { return begin <= other.end && other.begin <= end; }
};

class Liveness {
public:
  explicit Liveness(mlir::func::FuncOp func);

  /// The value whose memory this value names.
  static mlir::Value getRoot(mlir::Value value);
  /// The ranges of all values that steps define, in program order.
  const llvm::MapVector<mlir::Value, LiveRange> &getRanges() const { return ranges; }
  int64_t getStep(mlir::Operation *op) const { return steps.lookup(op); }

private:
  llvm::MapVector<mlir::Value, LiveRange> ranges;
  llvm::DenseMap<mlir::Operation *, int64_t> steps;
};

} // namespace spmdc
