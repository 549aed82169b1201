//===- DistinctLoops.h - one function for equal loops -----------*- C++ -*-===//
//
// Kernels that compute the same on arrays of different shapes often have the same loops: an optimiser's step on every
// parameter, a copy, a constant. Such loops are compiled once, under the names of all their kernels.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "ir/plan/PlanOps.h"
#include "passes/cpu/CpuUnits.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"

#include <vector>

namespace spmdc {

/// The loops of one or more kernels.
struct KernelLoops {
  mlir::LLVM::LLVMFuncOp entry, body;             ///< The first kernel's function, and the one that it calls.
  llvm::SmallVector<mlir::StringAttr> otherNames; ///< The names of the other kernels with these loops.
};

/// Returns the loops of `kernels`, in their order, as functions in `module`; emits an error and fails if a kernel has
/// no schedule. `units`: see emitCpuKernel.
mlir::FailureOr<std::vector<KernelLoops>> emitDistinctLoops(llvm::ArrayRef<plan::KernelOp> kernels,
                                                            mlir::ModuleOp module, const CpuUnits &units);

} // namespace spmdc
