//===- AllowedDirection.h - barriers of propagation -------------*- C++ -*-===//
#pragma once

#include "mlir/IR/BuiltinAttributes.h"

namespace spmdc {

/// On an array.optimization_barrier: which way shardings go through it, "forward" (to its result), "backward" (to its
/// operand) or "none"; both ways without it.
inline constexpr llvm::StringLiteral kAllowedDirectionAttrName = "spmd.allowed_direction";

} // namespace spmdc
