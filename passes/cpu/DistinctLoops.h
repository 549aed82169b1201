//===- DistinctLoops.h - kernels' loops, the same ones once -----*- C++ -*-===//
//
// Kernels that do the same to arrays of different shapes often have the same loops: an optimiser's step on every
// parameter, a copy, a constant. Their code is made once and gets all their names.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "ir/plan/PlanOps.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"

#include <vector>

namespace spmdc {

/// The loops of one or more kernels.
struct KernelLoops {
  mlir::LLVM::LLVMFuncOp entry, body;             ///< What is called by the first kernel's name, and what it calls.
  llvm::SmallVector<mlir::StringAttr> otherNames; ///< Of the other kernels that have these loops.
};

/// The loops of `kernels`, in their order, as functions in `module`; fails, with an error, where a kernel has none.
mlir::FailureOr<std::vector<KernelLoops>> emitDistinctLoops(llvm::ArrayRef<plan::KernelOp> kernels,
                                                            mlir::ModuleOp module);

} // namespace spmdc
