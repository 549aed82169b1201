//===- EmitGpu.h - kernels to PTX -------------------------------*- C++ -*-===//
//
// The way from the mapped kernels of a planned module to PTX text: code in the gpu dialect, libdevice, nvvm (the passes
// of passes/gpu), LLVM's NVPTX backend. No GPU and no CUDA is needed, but for libdevice where kernels call
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
  std::string toolkit; ///< Where the CUDA toolkit lies; empty: in one of the usual places.

  /// Fails for chips that this compiler makes no code for, with a list of those it does.
  static mlir::FailureOr<GpuTarget> named(llvm::StringRef chip, mlir::Location loc);
  spmd::TargetInfo getInfo() const;
  /// Shared memory that a block may have, in bytes.
  int64_t getSharedBytes() const;
};

/// PTX of all plan.kernel symbols of the module, which stays as it is.
mlir::FailureOr<std::string> emitPtx(mlir::ModuleOp module, const GpuTarget &target);
/// For --emit=llvm: optimised, libdevice linked in.
mlir::FailureOr<std::string> emitGpuLlvmText(mlir::ModuleOp module, const GpuTarget &target);

} // namespace spmdc
