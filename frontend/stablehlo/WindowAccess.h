//===- WindowAccess.h - windows along one dimension -------------*- C++ -*-===//
#pragma once

#include "frontend/stablehlo/IndexWindows.h"

namespace spmdc::stablehlo {

/// Windows read or written along one dimension of the operand, after a transpose and a reshape of it. The dimension is
/// that of the starts, or all of them flattened.
struct Access {
  llvm::SmallVector<int64_t> perm;       ///< Of the operand.
  llvm::SmallVector<int64_t> transposed; ///< Its shape then.
  llvm::SmallVector<int64_t> shape;      ///< With the dimensions of the starts flattened.
  int64_t dim;                           ///< That dimension.
  bool isAlong;                          ///< Whether there are batching dimensions.
  llvm::SmallVector<int64_t> batching;   ///< These, by their places in `shape`.
  llvm::SmallVector<int64_t> labels;     ///< The dimensions of the windows in the order of what is taken.
  llvm::SmallVector<int64_t> expanded;   ///< Their sizes.
  llvm::SmallVector<int64_t> taken;      ///< The shape of what is taken.
};

/// Positions along the flattened dimensions of the starts, by the dimensions of the windows.
struct Positions {
  mlir::Value array;
  llvm::SmallVector<int64_t> labels; ///< The dimensions of the windows that they have.
  int64_t count;                     ///< The number of elements of the flattened dimensions.
};

llvm::SmallVector<int64_t> inverseOf(llvm::ArrayRef<int64_t> perm);

/// Whether 0 <= position < size, element by element.
mlir::Value isInRange(Translation &t, mlir::Value position, int64_t size);

/// Those of all elements of the windows. A gather clamps the windows into the operand; for a scatter, the elements of a
/// window that is not completely inside have `count`.
Positions positionsOf(Translation &t, const Windows &windows, mlir::Value indices, bool isGather);

/// Positions as [batching dimensions in the operand's order, all others flattened].
mlir::Value groupByBatches(Translation &t, const Windows &windows, const Positions &positions);

/// An access in the place of a single dimension with a start. With several, or if `isGrouped`, it is one to [batching
/// dimensions, those with a start, all others].
Access accessOf(const Windows &windows, const Positions &positions, bool isGrouped);

/// Indices of `take`, or of `take_along`.
mlir::Value indicesFor(Translation &t, const Windows &windows, const Positions &positions, const Access &access);

/// The operand as `access` has it, and back; the updates of a scatter as what is taken.
mlir::Value arrange(Translation &t, const Access &access, mlir::Value operand);
mlir::Value restore(Translation &t, const Access &access, mlir::Value arranged);
mlir::Value arrangeUpdates(Translation &t, const Access &access, mlir::Value updates);

/// Dimensions in which all windows start at 0 become those of the window, and those of one element that windows do not
/// have vanish. A gather clamps starts: they are 0 where the window has the size of the dimension.
mlir::Value cropFixedDims(Translation &t, Windows &windows, mlir::Value x, bool isGather);

/// Writes what `cropFixedDims` has cropped to its place.
mlir::Value putBack(Translation &t, const Windows &windows, mlir::Value x, mlir::Value cropped);

/// For each dimension of the operand that has no start, the dimension of the windows that counts along it.
llvm::SmallVector<int64_t> fixedLabels(const Windows &windows);

} // namespace spmdc::stablehlo
