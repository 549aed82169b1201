//===- FreeOperations.h - blocks of a function and its regions ----*- C++ -*-===//
#pragma once

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace spmdc {

/// Returns the blocks that hold a device's operations: the function's, and those of its loops and branches, outer ones
/// first.
llvm::SmallVector<mlir::Block *> getNestedBlocks(mlir::func::FuncOp function);

/// The operations of one kind in the module's functions, in order; not those of kernels that are outlined already.
template <typename Op> llvm::SmallVector<Op> collectOps(mlir::ModuleOp module) {
  llvm::SmallVector<Op> ops;
  for (auto function : module.getOps<mlir::func::FuncOp>())
    function.walk([&](Op op) { ops.push_back(op); });
  return ops;
}

/// Rewrites the function: copies splats, positions and broadcasts from outside into each block whose kernels read them.
/// Computed where they are read, they cost nothing; in memory, each iteration of a loop would read them again.
void sinkFreeOperations(mlir::func::FuncOp function);

/// True if the program's behavior depends on the order of such operations: prints, and operations that contain prints.
bool hasOrderedEffects(mlir::Operation *op);

/// Sorts a block with launches at its end, such that values come before their uses. A launch comes as soon as its last
/// input is ready; other ready operations keep program order. Prints keep their order.
void sortLaunches(mlir::Block &block);

} // namespace spmdc
