//===- DimSplitter.h - one dimension written as several ---------*- C++ -*-===//
//
// Writes a dimension as several in all operations that connect it with itself (DimGroups.h). A reshape is inserted
// before an operation that needs the original dimension, and after a value that cannot be computed otherwise (a
// parameter). The reshape that merged the dimensions then changes nothing and is erased:
//
//     %0 = reshape %x : <f32[4, 6, 8]> -> <f32[24, 8]>
//     %1 = dot_general %0, %w contract [1] x [0] : <f32[24, 8]>, <f32[8, 5]> -> <f32[24, 5]>
//     %2 = argsort %1 dim 0
//
//  becomes, with parts 4 and 6,
//
//     %1 = dot_general %x, %w contract [2] x [0] : <f32[4, 6, 8]>, <f32[8, 5]> -> <f32[4, 6, 5]>
//     %3 = reshape %1 : <f32[4, 6, 5]> -> <f32[24, 5]>
//     %2 = argsort %3 dim 0
//
//===----------------------------------------------------------------------===//
#pragma once

#include "passes/simplify/DimGroups.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/SmallPtrSet.h"

namespace spmdc {

/// A dimension of the operand of a reshape, or of its result.
struct DimOfReshape {
  ReshapeOp reshape;
  bool ofResult;
  int64_t dim;
};

/// Splits a set of connected dimensions of one size: `add` collects them, `rewrite` splits them all.
class DimSplitter {
public:
  /// `parts`: the sizes, major to minor, of the dimensions into which each added dimension is split.
  explicit DimSplitter(llvm::ArrayRef<int64_t> parts) : parts(parts) {}

  /// Adds a dimension, and all dimensions that are connected with it.
  void add(DimOfReshape dim);

  /// Whether an operation other than a reshape computes with the dimension; otherwise a split would only move reshapes.
  bool isComputedWith() const { return computed; }

  /// The number of another dimension after the split; nothing if it is one of the split dimensions.
  std::optional<int64_t> getNewDim(DimOfReshape dim) const;

  /// Splits the dimensions. Erases reshapes that change nothing any more.
  void rewrite(mlir::func::FuncOp func);
  bool isErased(ReshapeOp reshape) const { return erased.contains(reshape); }

private:
  using Dims = llvm::SmallVector<int64_t, 2>;

  Dims dimsOf(mlir::Value value) const { return values.lookup(value); }
  void addGroup(const DimGroup &first);
  void rewriteOp(mlir::Operation *op);
  void adaptOperand(mlir::OpOperand &use);
  ArrayType splitType(ArrayType type, llvm::ArrayRef<int64_t> dims) const;

  llvm::SmallVector<int64_t, 4> parts;
  /// The dimensions to split, ascending, by value and by use. Never iterated.
  llvm::DenseMap<mlir::Value, Dims> values;
  llvm::DenseMap<mlir::OpOperand *, Dims> uses;
  llvm::SmallVector<mlir::Value> found; ///< The keys of `values`, in insertion sequence.
  bool computed = false;
  /// During `rewrite`: the original types of values, and reshapes of values for operands.
  llvm::DenseMap<mlir::Value, ArrayType> before;
  llvm::DenseMap<std::pair<mlir::Value, ArrayType>, mlir::Value> adapted;
  llvm::SmallVector<ReshapeOp> made; ///< The same reshapes, in insertion sequence.
  llvm::SmallPtrSet<mlir::Operation *, 8> erased;
};

} // namespace spmdc
