//===- Widening.h - arithmetic of narrow numbers ----------------*- C++ -*-===//
//
// Narrow numbers have conversions and movements; all else is computed in a wider type:
//
//   %2 = stablehlo.add %0, %1 : tensor<8xf8E5M2>      operands converted to f16, a sum of f16, and its conversion
//   stablehlo.while(%a = %2 : tensor<8xf8E5M2>)       as it is: it passes values on
//
// Types follow XLA on a CPU, whose numbers these are: f16 for floats, one operation at a time. Products and reductions
// are computed in f32 and rounded once. Integers are computed in 8 bits, of which the result takes the low ones.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "frontend/stablehlo/dialect/Dialects.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Builders.h"

namespace spmdc::stablehlo {

/// Rewrites the module so that only conversions, constants, and operations that move elements or pass values on have
/// narrow numbers.
void widenNarrow(mlir::ModuleOp module);

} // namespace spmdc::stablehlo
