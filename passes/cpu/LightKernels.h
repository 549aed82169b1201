//===- LightKernels.h - kernels that get little of LLVM's time --*- C++ -*-===//
//
// LLVM takes some 10 ms for a kernel, so a program with very many of them would wait long for code that runs for
// microseconds. Beyond a number of kernels, those with the least work that stand in no loop are light: what LLVM's best
// code would save is less than the time to find it, in thousands of calls.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "ir/plan/PlanOps.h"

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"

namespace spmdc {

struct KernelGroups {
  llvm::SmallVector<plan::KernelOp> full, light; ///< Each in the order of the module.
};

/// The module's kernels.
KernelGroups groupKernels(mlir::ModuleOp module);

} // namespace spmdc
