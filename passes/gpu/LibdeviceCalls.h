//===- LibdeviceCalls.h - mathematical functions of CUDA --------*- C++ -*-===//
//
// Functions that a GPU has no instructions for are NVIDIA's libdevice, a file of LLVM bitcode that comes with every
// CUDA toolkit. It is linked into the kernels, so that the PTX stands alone; the toolkit is needed only where kernels
// that call such functions are compiled.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Support/LLVM.h"

#include <optional>
#include <string>

namespace llvm {
class Module;
} // namespace llvm

namespace spmdc {

/// Replaces operations of the math dialect (and remainders) on f32 and f64 by calls of libdevice; what is left is what
/// the hardware has.
void callLibdevice(mlir::Operation *module);

/// The bitcode file; `toolkit` is searched first where it is not empty, then the usual places.
std::optional<std::string> findLibdevice(llvm::StringRef toolkit);

/// Links what the module calls. An error names the function and what is missing.
mlir::LogicalResult linkLibdevice(llvm::Module &module, llvm::StringRef toolkit, mlir::Location loc);

} // namespace spmdc
