//===- DimSplitter.h - one dimension written as several ---------*- C++ -*-===//
//
// Writes a dimension as several wherever operations connect it with itself (DimGroups.h). At the border, where an
// operation needs the dimension as it was, and where a value cannot be computed otherwise (a parameter), a reshape goes
// between. The reshape that merged the dimensions then changes nothing and disappears:
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

class DimSplitter {
public:
  /// The sizes of the dimensions, major to minor, that each dimension that is added is the product of.
  explicit DimSplitter(llvm::ArrayRef<int64_t> parts) : parts(parts) {}

  /// Adds a dimension, and all that is connected with it.
  void add(DimOfReshape dim);

  /// Whether anything but reshapes computes with the dimension: else they would only change places.
  bool isComputedWith() const { return computed; }

  /// The number that another dimension will have; none if it is one of those that are split.
  std::optional<int64_t> getNewDim(DimOfReshape dim) const;

  /// Writes the dimensions as several. Reshapes that change nothing any more are erased.
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
  /// The dimensions to be split, ascending, of values and of what operations read. Only looked up.
  llvm::DenseMap<mlir::Value, Dims> values;
  llvm::DenseMap<mlir::OpOperand *, Dims> uses;
  llvm::SmallVector<mlir::Value> found; ///< The keys of `values`, in the order of finding.
  bool computed = false;
  /// While rewriting: the types of values before, and reshapes of them for operands.
  llvm::DenseMap<mlir::Value, ArrayType> before;
  llvm::DenseMap<std::pair<mlir::Value, ArrayType>, mlir::Value> adapted;
  llvm::SmallVector<ReshapeOp> made; ///< The same reshapes, in order.
  llvm::SmallPtrSet<mlir::Operation *, 8> erased;
};

} // namespace spmdc
