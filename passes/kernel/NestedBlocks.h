//===- NestedBlocks.h - the blocks of a function, loops and all -*- C++ -*-===//
#pragma once

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace spmdc {

/// The blocks that hold a device's operations: the function's, and those of its loops and branches; outer ones first.
llvm::SmallVector<mlir::Block *> getNestedBlocks(mlir::func::FuncOp function);

/// Gives each block copies of the splats, positions and broadcasts outside that its kernels read: computed where they
/// are read, they cost nothing, while in memory each iteration of a loop would read them anew.
void sinkFreeOperations(mlir::func::FuncOp function);

/// True where the order among such operations is part of what the program does: prints, and what contains them.
bool hasOrderedEffects(mlir::Operation *op);

} // namespace spmdc
