//===- ExpandComplex.h - complex arrays as pairs of real ones ---*- C++ -*-===//
#pragma once

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace spmdc::stablehlo {

/// Replaces the complex arrays of an exported program by pairs of arrays of floats (Expander.h), those in the signature
/// of `entry` by arrays with both parts (JoinedParts.h). Fails with a message.
mlir::LogicalResult expandComplex(mlir::ModuleOp module, mlir::func::FuncOp entry);

} // namespace spmdc::stablehlo
