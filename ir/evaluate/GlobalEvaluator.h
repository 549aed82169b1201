//===- GlobalEvaluator.h - what a program means -----------------*- C++ -*-===//
//
// The first oracle: evaluates a function of `array` operations in the global view, where shardings, constraints and
// reshards say nothing about values. Everything after it (partitioned programs, kernels, compiled processes) is
// checked against its answers; it is itself checked against literal values made with NumPy and JAX.
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

/// The function's results for these arguments. Fails with a diagnostic: on an operation that has no global meaning
/// (collectives, steps), and where an argument is not what its type says.
mlir::FailureOr<llvm::SmallVector<Tensor>> evaluateGlobal(mlir::func::FuncOp function,
                                                          llvm::ArrayRef<Tensor> arguments);

} // namespace spmdc
