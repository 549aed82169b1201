//===- LightKernels.h - kernels with few optimizations ----------*- C++ -*-===//
//
// LLVM takes some 10 ms for a kernel, so a program with very many kernels would compile long for code that runs for
// microseconds. Beyond a number of kernels, those outside loops with the least work are light: fully optimised code
// would save less than its compile time, even in thousands of calls.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "ir/plan/PlanOps.h"

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"

namespace spmdc {

struct KernelGroups {
  llvm::SmallVector<plan::KernelOp> full, light; ///< Each in module order.
};

/// Splits the module's kernels into the two groups.
KernelGroups groupKernels(mlir::ModuleOp module);

} // namespace spmdc
