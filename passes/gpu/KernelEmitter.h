//===- KernelEmitter.h - the code of a kernel for a GPU ---------*- C++ -*-===//
#pragma once

#include "ir/plan/PlanOps.h"
#include "passes/gpu/GpuMapping.h"

#include "mlir/Dialect/GPU/IR/GPUDialect.h"

namespace spmdc {

/// Adds to `target` the gpu.func of a scheduled kernel, with the calling convention of runtime/artifact/Plan.h: control
/// flow and memory in the llvm dialect, arithmetic in arith and math, threads, barriers and shuffles in gpu.
mlir::LogicalResult emitGpuKernel(plan::KernelOp kernel, mlir::gpu::GPUModuleOp target);

/// How the kernel is launched; fails where it has no loops.
mlir::FailureOr<GpuMapping> getGpuMapping(plan::KernelOp kernel);

/// Discardable attributes that the emitted functions carry through the conversion to llvm.
inline constexpr llvm::StringLiteral kNoAliasAttrName = "spmd.noalias";
inline constexpr llvm::StringLiteral kReadOnlyAttrName = "spmd.readonly";

} // namespace spmdc
