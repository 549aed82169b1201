//===- Libdevice.h - the library of CUDA's mathematical functions -*- C++ -*-===//
//
// NVIDIA's libdevice has the functions for which a GPU has no instructions. It is a file of LLVM bitcode that comes
// with every CUDA toolkit, and is linked into the kernels, so that the PTX is self-contained; only a compile of kernels
// that call such functions needs the toolkit.
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

/// The prefix of all functions of libdevice.
inline constexpr llvm::StringLiteral kLibdevicePrefix = "__nv_";

/// Returns the bitcode file in this folder of a toolkit, or in the usual folders if `toolkit` is empty.
std::optional<std::string> findLibdevice(llvm::StringRef toolkit);

/// Links the functions that the module calls. An error names the functions, the folders searched, and a fix.
mlir::LogicalResult linkLibdevice(llvm::Module &module, llvm::StringRef toolkit, mlir::Location loc);

} // namespace spmdc
