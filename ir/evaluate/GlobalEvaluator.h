//===- GlobalEvaluator.h - reference results of a program -------*- C++ -*-===//
//
// The first oracle: evaluates a function of `array` operations in the global view, where shardings, constraints and
// reshards do not affect values. Partitioned programs, kernels and compiled processes are checked against its results;
// it is itself checked against values from NumPy and JAX.
//
// Floats are computed in double precision and rounded once per operation to the result's element type.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "ir/interfaces/Tensor.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"

namespace spmdc {

/// Returns the function's results for these arguments. Fails with a diagnostic if an operation has no global meaning
/// (collectives, steps), or an argument does not have the type of its parameter.
mlir::FailureOr<llvm::SmallVector<Tensor>> evaluateGlobal(mlir::func::FuncOp function,
                                                          llvm::ArrayRef<Tensor> arguments);

} // namespace spmdc
