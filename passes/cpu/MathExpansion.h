//===- MathExpansion.h - mathematical functions as arithmetic ---*- C++ -*-===//
#pragma once

#include "mlir/IR/BuiltinOps.h"

namespace spmdc {

struct MathOptions {
  bool hasFma = true;    ///< The target multiplies and adds with one rounding.
  bool hasScale = false; ///< The target multiplies by powers of two (kScaleFunction).
};

/// Replaces operations of the math dialect (on scalars): for f32 by arithmetic that vectorises, for other types by
/// calls of libm. The operations that remain are instructions in LLVM. Divisions by constants become multiplications
/// (DivisionByConstant.h).
void expandMath(mlir::ModuleOp module, const MathOptions &options);

} // namespace spmdc
