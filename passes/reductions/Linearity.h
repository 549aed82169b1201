//===- Linearity.h - operations that are linear -----------------*- C++ -*-===//
#pragma once

#include "mlir/IR/Operation.h"
#include "llvm/ADT/STLFunctionalExtras.h"

#include <optional>

namespace spmdc {

/// The indices of the operands in which an operation is linear: applied to the sum of two arrays, it gives the sum of
/// the results for each. For a multiplication or division, the operand that `mayBePartial`.
llvm::SmallVector<unsigned> listLinear(mlir::Operation *op, llvm::function_ref<bool(mlir::Value)> mayBePartial);

/// Whether the user is linear in this operand if no other operand is a partial sum. Both the pricing
/// (ReductionDiscount) and the rewrite (LinearRegion) ask `listLinear`, so that they agree.
bool isLinearIn(mlir::OpOperand &use);

/// Whether all elements are equal: a splat constant, a scalar, or a broadcast of one.
bool isOneNumber(mlir::Value value);

/// Whether the operation is a collective of the user (along a manual axis) that is linear in its operand.
bool isLinearCollective(mlir::Operation *op);

/// The index of the update operand of an operation that writes or adds it into its first operand; else none.
std::optional<unsigned> getUpdate(mlir::Operation *op);

} // namespace spmdc
