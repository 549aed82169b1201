//===- AllowTf32.h - the permission to multiply f32 in TF32 -----*- C++ -*-===//
#pragma once

#include "ir/plan/PlanOps.h"

#include "mlir/IR/Builders.h"

namespace spmdc {

/// A module attribute (a UnitAttr): matrix products of f32 may round their factors to TF32 (`--allow-tf32`). Only
/// modules for GPUs have it.
inline constexpr llvm::StringLiteral kAllowTf32AttrName = "spmd.allow_tf32";

/// Whether the module of a product allows TF32 and the product is one of f32.
inline bool allowsTf32(mlir::ModuleOp module, plan::MatmulOp product) {
  return module->hasAttr(kAllowTf32AttrName) &&
         llvm::cast<ArrayType>(product.getLhs().getType()).getElementType().isF32();
}

} // namespace spmdc
