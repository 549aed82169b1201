//===- ReplicatedAxes.h - axes that shard no dimension ----------*- C++ -*-===//
#pragma once

#include "mlir/IR/BuiltinAttributes.h"

namespace spmdc {

/// Attribute of spmd.constraint, an AxesAttr: propagation adds none of these axes to the open dimensions of the value
/// (Shardy's `replicated`). JAX writes it for the axes of type Explicit in a mesh that has axes of type Auto, too.
inline constexpr llvm::StringLiteral kReplicatedAxesAttrName = "spmd.replicated";

} // namespace spmdc
