//===- Linearity.h - where partial sums pass through operations -*- C++ -*-===//
#pragma once

#include "ir/interfaces/OpInterfaces.h"

namespace spmdc {

/// The numbers of the operands in which the operation is linear (LinearOpInterface); none for any other operation. The
/// price of a partial sum (ReductionDiscount) and the rewrite of one (LinearRegion) both follow this list.
llvm::SmallVector<unsigned> listLinear(mlir::Operation *op, llvm::function_ref<bool(mlir::Value)> mayBePartial);

/// Whether the user is linear in this operand, if that value alone is a partial sum.
bool isLinearIn(mlir::OpOperand &use);

/// Whether the operation is a collective along a manual axis that is linear in its operand.
bool isLinearCollective(mlir::Operation *op);

} // namespace spmdc
