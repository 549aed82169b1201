//===- Linearity.h - operations that are linear -----------------*- C++ -*-===//
#pragma once

#include "mlir/IR/Operation.h"
#include "llvm/ADT/STLFunctionalExtras.h"

#include <optional>

namespace spmdc {

/// The numbers of the operands in which an operation is linear: of the sum of two arrays it makes the sum of what it
/// makes of each, for all numbers that may occur. Of a product, the operand which `mayBePartial`.
llvm::SmallVector<unsigned> listLinear(mlir::Operation *op, llvm::function_ref<bool(mlir::Value)> mayBePartial);

/// Whether the user is linear in this operand where that alone is a partial sum. What partial sums are priced to travel
/// through (ReductionDiscount) and what they are taken through (LinearRegion) are both found by `listLinear`.
bool isLinearIn(mlir::OpOperand &use);

/// Whether all elements are one number: a splat, or what is broadcast of a scalar.
bool isOneNumber(mlir::Value value);

/// Whether the operation is a collective that a person wrote, along a manual axis, and linear in its operand.
bool isLinearCollective(mlir::Operation *op);

/// The number of the operand that an operation writes to, or adds at, places of its first one.
std::optional<unsigned> getUpdate(mlir::Operation *op);

} // namespace spmdc
