//===- Interior.h - ranges of lanes without bounds checks -------*- C++ -*-===//
//
// Code that reads padded arrays (a convolution, a stencil, their gradients) tests for every element whether it is
// inside the array. For most elements the tests give the same results: these elements are one range of the lanes, the
// interior, whose loop has no tests. If arrays are concatenated along the lanes, the lanes fall into segments, each of
// which reads one of the arrays.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "passes/kernel/ElementValues.h"
#include "passes/kernel/KernelSchedule.h"

#include <vector>

namespace spmdc {

/// The guards of the reads of a value, as far as a range of lanes decides them.
class LaneReads {
public:
  /// `lane` is the atom of the indices that counts the lanes, from `first` up to `last`.
  LaneReads(KernelIndexing &indexing, const KernelBody &body, unsigned lane, int64_t first, int64_t last)
      : indexing(indexing), body(body), lane(lane), first(first), last(last) {}

  /// Adds the reads of a value at an index.
  void add(mlir::Value value, llvm::ArrayRef<IndexExpr> index);

  /// Lanes at which another operand of a concatenation begins, ascending.
  llvm::ArrayRef<int64_t> getBorders() const { return borders; }
  /// Guards that select the operands of concatenations that all lanes read.
  llvm::ArrayRef<IndexAssumption> getKnown() const { return known; }
  /// For each of the other guards, once, the outcome for most elements. It contains only guards that a range of the
  /// lanes decides: those that do not depend on the lane, or hold in a range of it.
  llvm::ArrayRef<IndexAssumption> getInterior() const { return interior; }

private:
  void addConcatenate(ConcatenateOp op, llvm::ArrayRef<IndexExpr> index);
  /// Adds the outcome for most elements, if these are at least this share of all.
  void addGuard(const IndexGuard &guard, double share);

  KernelIndexing &indexing;
  const KernelBody &body;
  unsigned lane;
  int64_t first, last;
  llvm::SmallVector<int64_t> borders;
  llvm::SmallVector<IndexAssumption> known, interior;
  std::vector<std::pair<mlir::Value, std::vector<IndexExpr>>> seen;
};

} // namespace spmdc
