//===- OpEvaluator.h - one array operation by its definition ----*- C++ -*-===//
//
// The step that both reference evaluators share: an operation of the `array` dialect on values, through
// ElementwiseOpInterface or EvaluateOpInterface. It knows no operation by name.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "ir/interfaces/Tensor.h"

#include "mlir/IR/Operation.h"
#include "llvm/ADT/ArrayRef.h"

namespace spmdc {

/// The operation's only result for these operands. Fails, with a diagnostic at the operation, where it implements
/// neither interface or where its result does not have the shape that its type promises.
mlir::FailureOr<Tensor> evaluateArrayOp(mlir::Operation *op, llvm::ArrayRef<Tensor> operands);

} // namespace spmdc
