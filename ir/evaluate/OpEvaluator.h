//===- OpEvaluator.h - evaluation of one operation --------------*- C++ -*-===//
//
// Both reference evaluators use it: evaluates an operation of the `array` dialect through ElementwiseOpInterface or
// EvaluateOpInterface. It does not depend on operation names.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "ir/interfaces/Tensor.h"

#include "mlir/IR/Operation.h"
#include "llvm/ADT/ArrayRef.h"

namespace spmdc {

/// The operation's only result for these operands. Fails, with a diagnostic at the operation, if it implements neither
/// interface or its result does not have the shape of its type.
mlir::FailureOr<Tensor> evaluateArrayOp(mlir::Operation *op, llvm::ArrayRef<Tensor> operands);

} // namespace spmdc
