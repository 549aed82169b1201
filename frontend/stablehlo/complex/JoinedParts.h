//===- JoinedParts.h - complex arguments of a program -----------*- C++ -*-===//
#pragma once

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Builders.h"

namespace spmdc::stablehlo {

/// Gives the function, in the place of each complex argument and result, one array of floats with an additional last
/// dimension, the real part and the imaginary one: the memory of NumPy's complex64 and complex128. The dimension is not
/// sharded. These arguments and results have the attribute `kFormatAttrName`.
mlir::LogicalResult joinParts(mlir::func::FuncOp function, mlir::OpBuilder &b);

} // namespace spmdc::stablehlo
