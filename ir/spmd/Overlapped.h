//===- Overlapped.h - transfers that overlap with products ------*- C++ -*-===//
#pragma once

#include "mlir/IR/BuiltinAttributes.h"

namespace spmdc {

/// Attribute of a collective: a product overlaps with it, and must not wait for it. A later operation reads both
/// results.
inline constexpr llvm::StringLiteral kOverlappedAttrName = "spmd.overlapped";

} // namespace spmdc
