//===- AllowedDirection.h - directions of propagation -----------*- C++ -*-===//
#pragma once

#include "mlir/IR/BuiltinAttributes.h"

namespace spmdc {

/// Attribute of array.optimization_barrier: the direction in which shardings propagate through it, "forward" (to its
/// result), "backward" (to its operand) or "none"; without it, both.
inline constexpr llvm::StringLiteral kAllowedDirectionAttrName = "spmd.allowed_direction";

} // namespace spmdc
