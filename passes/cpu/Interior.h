//===- Interior.h - ranges of lanes for which nothing is asked --*- C++ -*-===//
//
// What reads padded arrays (a convolution, a stencil, their gradients) asks at every element whether it is inside. For
// most elements the answers are the same: these make one range of the lanes, the interior, for which nothing has to be
// asked. Where arrays are joined along the lanes, these fall into segments, each of which reads its own.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "passes/kernel/ElementValues.h"
#include "passes/kernel/KernelSchedule.h"

#include <vector>

namespace spmdc {

/// What a value reads, as far as a range of lanes decides.
class LaneReads {
public:
  /// For lanes from `first` up to `last`, which the atom `lane` of the indices counts.
  LaneReads(KernelIndexing &indexing, const KernelBody &body, unsigned lane, int64_t first, int64_t last)
      : indexing(indexing), body(body), lane(lane), first(first), last(last) {}

  /// Adds the reads of a value at an index.
  void add(mlir::Value value, llvm::ArrayRef<IndexExpr> index);

  /// Lanes at which another operand of a concatenation begins, ascending.
  llvm::ArrayRef<int64_t> getBorders() const { return borders; }
  /// Which operands of concatenations are read in all lanes.
  llvm::ArrayRef<IndexAssumption> getKnown() const { return known; }
  /// Of the other guards, each once, what most elements find. Only of those which a range of the lanes decides: they
  /// say nothing of the lane, or hold in a range of it.
  llvm::ArrayRef<IndexAssumption> getInterior() const { return interior; }

private:
  void addConcatenate(ConcatenateOp op, llvm::ArrayRef<IndexExpr> index);
  /// What most elements find, if these are at least this share of all.
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
