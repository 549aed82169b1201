//===- EmitGpu.h - kernels to PTX -------------------------------*- C++ -*-===//
//
// From the mapped kernels of a planned module to PTX text: code in the gpu dialect, libdevice, nvvm (the passes of
// passes/gpu), LLVM's NVPTX backend. No GPU is needed, and no CUDA except libdevice if kernels call mathematical
// functions. The text is a function of the module and the target.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "passes/kernel/GpuLimits.h"
#include "runtime/artifact/Plan.h"

#include "mlir/IR/BuiltinOps.h"

#include <string>

namespace spmdc {

/// The target GPU.
struct GpuTarget {
  std::string chip;    ///< `sm_70` ... `sm_90a`.
  std::string toolkit; ///< The folder of the CUDA toolkit; empty: search the usual folders.

  /// Fails for chips that this compiler does not support, with a list of those it supports.
  static mlir::FailureOr<GpuTarget> named(llvm::StringRef chip, mlir::Location loc);
  spmd::TargetInfo getInfo() const;
  GpuLimits getLimits() const;
};

/// Returns the PTX of all plan.kernel symbols of the module, which does not change.
mlir::FailureOr<std::string> emitPtx(mlir::ModuleOp module, const GpuTarget &target);
/// Returns the LLVM IR for --emit=llvm: optimised, with libdevice linked in.
mlir::FailureOr<std::string> emitGpuLlvmText(mlir::ModuleOp module, const GpuTarget &target);

} // namespace spmdc
