//===- Shapes.h - sizes of arrays -------------------------------*- C++ -*-===//
#pragma once

#include "ir/array/ArrayOps.h"

namespace spmdc {

inline int64_t productOf(llvm::ArrayRef<int64_t> shape) {
  int64_t product = 1;
  for (int64_t size : shape)
    product *= size;
  return product;
}

/// The sizes of the dimensions `dims` (`isIn`), or of all other dimensions.
inline llvm::SmallVector<int64_t> select(llvm::ArrayRef<int64_t> shape, llvm::ArrayRef<int64_t> dims, bool isIn) {
  llvm::SmallVector<int64_t> result;
  for (auto [d, size] : llvm::enumerate(shape))
    if (llvm::is_contained(dims, static_cast<int64_t>(d)) == isIn)
      result.push_back(size);
  return result;
}

/// The operand of a concatenation that has the element at `place` along its dimension, and the element's place there.
/// Of an empty array, or outside of it, where nothing is read: any of them.
inline std::pair<mlir::Value, int64_t> findPart(ConcatenateOp op, int64_t place) {
  for (mlir::Value operand : op.getOperands().drop_back()) {
    int64_t size = shapeOf(operand)[static_cast<size_t>(op.getDim())];
    if (place < size)
      return {operand, place};
    place -= size;
  }
  return {op.getOperands().back(), place};
}

inline llvm::SmallVector<int64_t> withoutOnes(llvm::ArrayRef<int64_t> shape) {
  llvm::SmallVector<int64_t> result;
  for (int64_t size : shape)
    if (size != 1)
      result.push_back(size);
  return result;
}

/// The dimensions that a reduce combines, or a cumulative scans.
inline llvm::SmallVector<int64_t> reducedDims(mlir::Operation *op) {
  if (auto reduce = mlir::dyn_cast<ReduceOp>(op))
    return llvm::SmallVector<int64_t>(reduce.getDims());
  return {static_cast<int64_t>(mlir::cast<CumulativeOp>(op).getDim())};
}

} // namespace spmdc
