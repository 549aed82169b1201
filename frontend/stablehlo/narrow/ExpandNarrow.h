//===- ExpandNarrow.h - narrow numbers as bytes -----------------*- C++ -*-===//
#pragma once

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace spmdc::stablehlo {

/// Replaces the arrays of narrow numbers of an exported program by arrays of bytes (NarrowTypes.h): conversions become
/// formulas, arithmetic is computed in a wider type (Widening.h), and all that moves elements moves bytes. Arguments
/// and results of `entry` have the attribute `kFormatAttrName`. Fails with a message.
mlir::LogicalResult expandNarrow(mlir::ModuleOp module, mlir::func::FuncOp entry);

} // namespace spmdc::stablehlo
