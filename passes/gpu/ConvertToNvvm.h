//===- ConvertToNvvm.h - from the gpu dialect to nvvm and llvm --*- C++ -*-===//
#pragma once

#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Support/LogicalResult.h"

namespace spmdc {

/// Takes the functions of KernelEmitter.h to the llvm and nvvm dialects.
mlir::LogicalResult convertToNvvm(mlir::gpu::GPUModuleOp module);

} // namespace spmdc
