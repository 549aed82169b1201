//===- KernelEmitter.h - the loops of a kernel for a CPU --------*- C++ -*-===//
#pragma once

#include "ir/plan/PlanOps.h"
#include "passes/cpu/CpuUnits.h"

#include "mlir/IR/BuiltinOps.h"

namespace spmdc {

/// Adds to `target` the function of a scheduled kernel (class CpuKernel emits it), with the calling convention of
/// runtime/artifact/Plan.h, in the llvm, arith and math dialects:
///     void kernel(int64_t begin, int64_t end, void *const *buffers, const int64_t *coordinates)
/// `units`: of the target.
mlir::LogicalResult emitCpuKernel(plan::KernelOp kernel, mlir::ModuleOp target, const CpuUnits &units);

} // namespace spmdc
