//===- Meshes.h - the meshes of a module as one -----------------*- C++ -*-===//
#pragma once

#include "frontend/stablehlo/dialect/Dialects.h"

#include "ir/spmd/SpmdOps.h"

#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/StringMap.h"

namespace spmdc::stablehlo {

/// The mesh of a module, and what other meshes of the same devices call its axes.
///
///   @one = <["a"=4, "b"=2]>, @two = <["x"=2, "y"=4]>: "x" is the first part of "a", "a":(1)2; "y" is "a":(2)2 and "b"
struct Meshes {
  /// The axes of another mesh as axes, or parts of them, of this one.
  using Names = llvm::StringMap<llvm::SmallVector<AxisRefAttr>>;

  spmd::MeshShape shape;
  llvm::StringMap<Names> others; ///< By names of meshes.

  /// Reads the `sdy.mesh` operations; without any, the shardings of GSPMD. Fails with a message.
  static mlir::FailureOr<Meshes> read(mlir::ModuleOp module);

  /// The axes by which the mesh `mesh` means `axis`; fails if it is a part of an axis that another mesh divides
  /// otherwise.
  mlir::FailureOr<llvm::SmallVector<AxisRefAttr>> find(llvm::StringRef mesh, AxisRefAttr axis) const;
};

} // namespace spmdc::stablehlo
