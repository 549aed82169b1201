//===- Overlapped.h - transfers that overlap with products ------*- C++ -*-===//
#pragma once

#include "mlir/IR/BuiltinAttributes.h"

namespace spmdc {

/// Attribute of a collective_permute that is a step of a collective matmul: a product runs during the transfer.
/// spmdc-schedule-collectives leaves the readers of its result in place, because a later operation reads both results.
inline constexpr llvm::StringLiteral kOverlappedAttrName = "spmd.overlapped";

} // namespace spmdc
