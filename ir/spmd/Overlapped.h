//===- Overlapped.h - transfers under which products run --------*- C++ -*-===//
#pragma once

#include "mlir/IR/BuiltinAttributes.h"

namespace spmdc {

/// On a collective: a product that something needs together with its result runs under it, and is not to wait for it.
inline constexpr llvm::StringLiteral kOverlappedAttrName = "spmd.overlapped";

} // namespace spmdc
