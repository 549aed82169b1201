//===- Interior.h - where a loop reads no padding ---------------*- C++ -*-===//
//
// What reads padded arrays (a convolution, a stencil, their gradients) asks at every element whether it is inside. For
// most elements the answers are the same: these make one range of the lanes, for which nothing has to be asked.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "passes/kernel/ElementValues.h"
#include "passes/kernel/KernelSchedule.h"

#include <vector>

namespace spmdc {

/// Of the guards of all pads that a value at an index reads, each once, what most elements find. Only of those which a
/// range of the lane decides: they say nothing of the lane, or hold in a range of it.
std::vector<IndexAssumption> findInterior(KernelIndexing &indexing, const KernelBody &body, mlir::Value value,
                                          llvm::ArrayRef<IndexExpr> index, unsigned lane);

} // namespace spmdc
