//===- EmitGpu.h - kernels to PTX -------------------------------*- C++ -*-===//
//
// The way from the kernels of a planned module to PTX text: blocks and threads (GpuMapping, KernelEmitter), gpu and
// nvvm dialects, libdevice, LLVM's NVPTX backend. No GPU and no CUDA is needed, but for libdevice where kernels call
// mathematical functions. The same module and target give the same text.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/artifact/Plan.h"

#include "mlir/IR/BuiltinOps.h"

#include <string>

namespace spmdc {

/// The GPU that code is made for.
struct GpuTarget {
  std::string chip;    ///< `sm_70` ... `sm_90a`.
  std::string toolkit; ///< Where the CUDA toolkit lies; empty: looked for in the usual places.

  /// Fails for chips that this compiler makes no code for, with a list of those it does.
  static mlir::FailureOr<GpuTarget> named(llvm::StringRef chip, mlir::Location loc);
  spmd::TargetInfo getInfo() const;
};

/// PTX of all plan.kernel symbols of the module, which stays as it is.
mlir::FailureOr<std::string> emitPtx(mlir::ModuleOp module, const GpuTarget &target);
/// For --emit=llvm: optimised, libdevice linked in.
mlir::FailureOr<std::string> emitGpuLlvmText(mlir::ModuleOp module, const GpuTarget &target);
/// The kernels in the gpu dialect, as they are before LLVM.
mlir::FailureOr<std::string> emitGpuDialectText(mlir::ModuleOp module, const GpuTarget &target);

/// Sets what launches need in a plan that was exported from the module: blocks, threads, and the target.
mlir::LogicalResult describeGpuLaunches(mlir::ModuleOp module, const GpuTarget &target, spmd::Plan &plan);

} // namespace spmdc
