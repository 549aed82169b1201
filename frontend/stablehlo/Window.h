//===- Window.h - the windows of a reduction --------------------*- C++ -*-===//
#pragma once

#include "frontend/stablehlo/Translation.h"

namespace spmdc::stablehlo {

/// The window of an operation, with the defaults of absent attributes: one entry for each dimension.
struct Window {
  llvm::SmallVector<int64_t> sizes, strides, baseDilations, dilations, low, high;

  /// Nullopt if the attributes do not fit the rank.
  static std::optional<Window> get(size_t rank, std::optional<llvm::ArrayRef<int64_t>> sizes,
                                   std::optional<llvm::ArrayRef<int64_t>> strides,
                                   std::optional<llvm::ArrayRef<int64_t>> baseDilations,
                                   std::optional<llvm::ArrayRef<int64_t>> dilations,
                                   std::optional<mlir::DenseIntElementsAttr> padding);

  /// The number of places of the window along a dimension of `size` elements, already padded.
  int64_t countPlaces(size_t dim, int64_t size) const;
};

/// Whether a number can be a size, stride or dilation, or a padding: computations with larger ones could overflow.
bool isWindowFactor(int64_t number);
bool isWindowPadding(int64_t number);
/// The number of places of a window of so many elements along a dimension of `size` elements, already padded.
int64_t countWindowPlaces(int64_t size, int64_t window, int64_t dilation, int64_t stride);

} // namespace spmdc::stablehlo
