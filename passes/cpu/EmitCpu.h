//===- EmitCpu.h - kernels to machine code for a CPU ------------*- C++ -*-===//
//
// From the kernels of a planned module to a shared object in memory: loops (KernelEmitter), mathematical functions
// (MathExpansion), LLVM, lld. The bytes are a function of the module and the target: they contain no times, paths or
// build identifiers.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/artifact/Plan.h"

#include "mlir/IR/BuiltinOps.h"

#include <string>
#include <vector>

namespace spmdc {

/// The target CPU.
struct CpuTarget {
  std::string cpu;                   ///< LLVM's name.
  std::vector<std::string> features; ///< Differences from that CPU's own features: `+avx512f`, `-amx-tile`.
  unsigned optimizationLevel = 3;    ///< 0 to 3, as in LLVM.

  /// The machine that this process runs on.
  static CpuTarget host();
  /// `znver4`, `x86-64-v3`, ...; fails for names that LLVM does not know, with a list of those it does.
  static mlir::FailureOr<CpuTarget> named(llvm::StringRef cpu, mlir::Location loc);
  /// The target as the artifact names it: the CPU and the instruction set extensions that code may use.
  spmd::TargetInfo getInfo() const;
};

/// Returns the shared object (ELF) of all plan.kernel symbols of the module, which does not change, and of the compiled
/// loops of the plan, which is that of the module; nothing if there are none.
mlir::FailureOr<std::string> emitSharedObject(mlir::ModuleOp module, const spmd::Plan &plan, const CpuTarget &target);
/// For --emit=llvm (optimised) and --emit=asm: one module, one file, with the code of all kernels.
mlir::FailureOr<std::string> emitLlvmText(mlir::ModuleOp module, const spmd::Plan &plan, const CpuTarget &target);
mlir::FailureOr<std::string> emitAsmText(mlir::ModuleOp module, const spmd::Plan &plan, const CpuTarget &target);

} // namespace spmdc
