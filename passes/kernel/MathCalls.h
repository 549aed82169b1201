//===- MathCalls.h - mathematical functions of a library --------*- C++ -*-===//
//
// C's libm and CUDA's libdevice name their functions alike: `tanh` of double, `tanhf` of float, libdevice with a
// prefix.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

namespace spmdc {

/// The function (of double) that an operation of the math dialect is in C; empty for what is none, or an instruction
/// everywhere.
llvm::StringRef mathFunctionName(mlir::Operation *op);

/// Replaces an operation on f32 or f64 by a call of `name`, with an `f` behind it for f32; returns the function, which
/// is declared in `module` (a symbol table) if it was not yet.
mlir::LLVM::LLVMFuncOp callMathFunction(mlir::Operation *op, llvm::StringRef name, mlir::Operation *module);

} // namespace spmdc
