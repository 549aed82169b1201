//===- Evaluation.h - what a region computes --------------------*- C++ -*-===//
#pragma once

#include "frontend/stablehlo/Translation.h"

#include "ir/interfaces/Tensor.h"

namespace spmdc::stablehlo {

/// Values of one block argument.
struct Points {
  mlir::Type elementType;
  std::vector<Scalar> values;
};

/// The first operation that keeps a region from being scalar code: operations on scalars of its own, in branches, loops
/// and calls, too. The region's own operation if it takes other arguments than scalars; null for scalar code.
mlir::Operation *findOtherThanScalarCode(mlir::Region &body);
inline bool isScalarCode(mlir::Region &body) { return !findOtherThanScalarCode(body); }

/// Whether a region is scalar code without loops: what is evaluated while compiling must end.
bool canBeEvaluated(mlir::Region &body);

/// The results of a region of scalars for each tuple of values of its arguments, which are as many for each. Fails
/// without a message if the region has operations that are not element-wise, loops, or values from outside.
mlir::FailureOr<llvm::SmallVector<Tensor>> evaluateElementwise(Translation &t, mlir::Region &body,
                                                               llvm::ArrayRef<Points> arguments);

} // namespace spmdc::stablehlo
