//===- KernelFunction.h - the function of a kernel for a CPU ----*- C++ -*-===//
#pragma once

#include "ir/plan/PlanOps.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinOps.h"

namespace spmdc {

/// The parameters of the function with the loops of a kernel.
struct KernelFunction {
  mlir::Block *entry = nullptr; ///< Empty; the builder is at its end.
  mlir::Value begin, end;       ///< i64: the part of the parallel range.
  mlir::Value coordinates;
  llvm::DenseMap<mlir::Value, mlir::Value> pointers; ///< By the kernel's argument.
  llvm::SmallVector<mlir::Value> outputs;
};

/// Adds two functions to `target`: one of the kernel's name, which loads the addresses of the buffers, and the inner
/// one that it calls, which is always inlined. The parameters of the inner one are noalias for buffers that cannot
/// overlap; a buffer that the plan may reuse for an output (passes/kernel/Overwrites.h) is not. `callsMemcpy`: LLVM may
/// replace loops that copy by calls.
KernelFunction openKernelFunction(mlir::OpBuilder &b, plan::KernelOp kernel, mlir::ModuleOp target,
                                  bool callsMemcpy = true);

} // namespace spmdc
