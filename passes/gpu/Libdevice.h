//===- Libdevice.h - the library of CUDA's mathematical functions -*- C++ -*-===//
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

/// All functions of libdevice begin with it.
inline constexpr llvm::StringLiteral kLibdevicePrefix = "__nv_";

/// The bitcode file in this folder of a toolkit, or, where that is empty, in the usual places.
std::optional<std::string> findLibdevice(llvm::StringRef toolkit);

/// Links what the module calls. An error names the functions, where libdevice was looked for, and what helps.
mlir::LogicalResult linkLibdevice(llvm::Module &module, llvm::StringRef toolkit, mlir::Location loc);

} // namespace spmdc
