//===- MathExpansion.h - mathematical functions as arithmetic ---*- C++ -*-===//
#pragma once

#include "mlir/IR/BuiltinOps.h"

namespace spmdc {

struct MathOptions {
  bool hasFma = true; ///< The target multiplies and adds with one rounding.
};

/// Replaces operations of the math dialect (on scalars) by arithmetic that vectorises, where the type is f32, and by
/// calls of libm otherwise. What is left is what LLVM has instructions for.
void expandMath(mlir::ModuleOp module, const MathOptions &options);

} // namespace spmdc
