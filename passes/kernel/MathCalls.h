//===- MathCalls.h - mathematical functions of a library --------*- C++ -*-===//
//
// C's libm and CUDA's libdevice use the same names: `tanh` for double, `tanhf` for float, in libdevice with a prefix.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

namespace spmdc {

/// Returns the name in C (for double) of an operation of the math dialect; empty if it is no such operation, or an
/// instruction on every target.
llvm::StringRef mathFunctionName(mlir::Operation *op);

/// Replaces an operation on f32 or f64 by a call of `name`, with the suffix `f` for f32. Returns the function, and
/// declares it in `module` (a symbol table) if need be.
mlir::LLVM::LLVMFuncOp callMathFunction(mlir::Operation *op, llvm::StringRef name, mlir::Operation *module);

} // namespace spmdc
