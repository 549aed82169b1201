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

/// Whether a region takes scalars and is made of operations on scalars of its own. Loops and calls are excluded: what
/// is evaluated while compiling must end.
bool isScalarCode(mlir::Region &body);

/// The results of a region of scalars for each tuple of values of its arguments, which are as many for each. Fails
/// without a message if the region has operations that are not element-wise, or values from outside.
mlir::FailureOr<llvm::SmallVector<Tensor>> evaluateElementwise(Translation &t, mlir::Region &body,
                                                               llvm::ArrayRef<Points> arguments);

} // namespace spmdc::stablehlo
