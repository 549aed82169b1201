//===- IndexForm.h - the dimensions of gathers and scatters -----*- C++ -*-===//
//
// A gather reads windows of an operand, and a scatter updates them. Both name the same relations: the window's first
// element is an index vector, a dimension of the windows is kept in the other array ("window") or has size 1 and is
// left out ("dropped"), and batching dimensions of the operand go with those of the indices.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "frontend/stablehlo/Translation.h"

namespace spmdc::stablehlo {

struct IndexForm {
  /// Reads the attributes; nullopt if they do not fit the shapes. `other` is the gather's result or the scatter's
  /// update.
  static std::optional<IndexForm> of(Translation &t, GatherOp op);
  static std::optional<IndexForm> of(Translation &t, ScatterOp op, unsigned input);

  /// The dimension of the operand along which alone windows begin, of which a window has one element, and nothing of
  /// the others is left out: `x[i]`, `x[:, i]`. The other dimensions are complete, or all of them are batching ones.
  std::optional<int64_t> takenDim() const;
  std::optional<int64_t> takenAlongDim() const;

  /// One start for each entry of the map, of the shape of the indices without the vector's dimension; i32 or i64.
  llvm::SmallVector<mlir::Value> starts(Translation &t) const;
  /// The shape of one start.
  llvm::SmallVector<int64_t> startShape() const;
  /// The dimensions of the other array that are not of windows: one for each dimension of a start.
  llvm::SmallVector<int64_t> startDims() const;

  /// For each element of the other array, its number in the operand in row-major order. Starts are clamped so that the
  /// windows are in the operand; or, for a scatter (`drops`), elements outside get the number of elements.
  mlir::Value numbers(Translation &t, bool drops) const;

  llvm::ArrayRef<int64_t> operandShape;
  mlir::Value indices; ///< With the vector's dimension.
  llvm::SmallVector<int64_t> otherShape;
  llvm::SmallVector<int64_t> windowSizes; ///< Of the operand's dimensions.
  llvm::SmallVector<int64_t> windowDims;  ///< Of the other array, in order.
  llvm::SmallVector<int64_t> droppedDims, operandBatching, indicesBatching, map;
  int64_t vectorDim = 0;

private:
  /// The operand's dimensions that the other array has as windows, in order.
  llvm::SmallVector<int64_t> keptDims() const;
  bool isValid() const;
};

} // namespace spmdc::stablehlo
