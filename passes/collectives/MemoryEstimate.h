//===- MemoryEstimate.h - how much a device needs at once -------*- C++ -*-===//
//
// An estimate for one device's program, before kernels are formed and buffers assigned. Counted are arrays that will
// lie in memory: what collectives, contractions and other operations with a loop nest of their own make, what they
// read, and what loops and branches hold. What is computed element by element for others of its kind counts as computed
// where those need it; what it reads is needed until then.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "ir/array/ArrayOps.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/DenseSet.h"

namespace spmdc {

/// Work that becomes a part of the kernel that needs it.
bool isElementWork(mlir::Operation *op);

/// From where to where the arrays of one block are needed: operations are numbered in their order, and one with regions
/// stands for all that they hold.
class BlockLiveness {
public:
  explicit BlockLiveness(mlir::Block &block);

  int64_t getNumber(mlir::Operation *op) const { return numbers.lookup(op); }
  /// The number of the last operation that needs the value, which is the block's; at least that of its own.
  int64_t getLastUse(mlir::Value value) const;
  /// Until when this user, in the block or in its regions, needs what it reads.
  int64_t getUseEnd(mlir::Operation *user) const;
  /// Whether the value, which is the block's, has memory of its own.
  bool hasMemory(mlir::Value value) const;

private:
  mlir::Block &block;
  llvm::DenseMap<mlir::Operation *, int64_t> numbers;
  llvm::DenseMap<mlir::Value, int64_t> lastUses;
  llvm::DenseSet<mlir::Value> inMemory;
};

/// Where a function needs most.
struct MemoryPeak {
  int64_t bytes = 0; ///< Without the function's arguments.
  /// The operation there, and those whose regions hold it, outwards.
  llvm::SmallVector<mlir::Operation *> path;
};

MemoryPeak estimateMemoryPeak(mlir::func::FuncOp func);

} // namespace spmdc
