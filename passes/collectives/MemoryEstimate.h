//===- MemoryEstimate.h - estimates the peak memory of a device -*- C++ -*-===//
//
// An estimate for one device's program, before kernels are formed and buffers assigned. It counts the arrays that will
// be materialized: the results and operands of collectives, contractions and other operations with their own loop nest,
// and the values of loops and branches. Element-wise results that only other element-wise operations read count as
// fused into these; their operands are live until then.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "ir/array/ArrayOps.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/DenseSet.h"

namespace spmdc {

/// Whether the operation can be fused into the kernel that reads its result: it is element-wise, or only moves
/// elements.
bool isFusible(mlir::Operation *op);

/// The live ranges of the values of one block. Operations are numbered in program order; the operations in a region
/// have the number of the block's operation that holds the region.
class BlockLiveness {
public:
  explicit BlockLiveness(mlir::Block &block);

  int64_t getNumber(mlir::Operation *op) const { return numbers.lookup(op); }
  /// The number of the last operation that needs this value of the block; at least the number of its own operation.
  int64_t getLastUse(mlir::Value value) const;
  /// The number of the last operation for which this user, in the block or in its regions, needs its operands.
  int64_t getUseEnd(mlir::Operation *user) const;
  /// Whether this value of the block has memory of its own.
  bool hasMemory(mlir::Value value) const;

private:
  mlir::Block &block;
  llvm::DenseMap<mlir::Operation *, int64_t> numbers;
  llvm::DenseMap<mlir::Value, int64_t> lastUses;
  llvm::DenseSet<mlir::Value> inMemory;
};

/// The point at which a function needs most memory.
struct MemoryPeak {
  int64_t bytes = 0; ///< Without the function's arguments.
  /// The operation at this point, and those whose regions hold it, innermost first.
  llvm::SmallVector<mlir::Operation *> path;
};

MemoryPeak estimateMemoryPeak(mlir::func::FuncOp func);

} // namespace spmdc
