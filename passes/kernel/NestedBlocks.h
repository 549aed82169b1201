//===- NestedBlocks.h - blocks of a function and its regions ----*- C++ -*-===//
#pragma once

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace spmdc {

/// Returns the blocks that hold a device's operations: the function's, and those of its loops and branches, outer ones
/// first.
llvm::SmallVector<mlir::Block *> getNestedBlocks(mlir::func::FuncOp function);

/// Rewrites the function: copies splats, positions and broadcasts from outside into each block whose kernels read them.
/// Computed where they are read, they cost nothing; in memory, each iteration of a loop would read them again.
void sinkFreeOperations(mlir::func::FuncOp function);

/// True if the program's behavior depends on the order of such operations: prints, and operations that contain prints.
bool hasOrderedEffects(mlir::Operation *op);

} // namespace spmdc
