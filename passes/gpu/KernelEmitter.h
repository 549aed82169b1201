//===- KernelEmitter.h - the code of a kernel for a GPU ---------*- C++ -*-===//
#pragma once

#include "ir/plan/PlanOps.h"

#include "mlir/Dialect/GPU/IR/GPUDialect.h"

namespace spmdc {

/// Adds to `target` the gpu.func of a mapped kernel (spmdc-map-to-gpu; class GpuKernel emits it), with the calling
/// convention of runtime/artifact/Plan.h: control flow and memory in the llvm dialect, arithmetic in arith and math,
/// threads, barriers and shuffles in gpu.
mlir::LogicalResult emitGpuKernel(plan::KernelOp kernel, mlir::gpu::GPUModuleOp target);

} // namespace spmdc
