//===- SlidingWindow.h - windows of convolution and pooling -----*- C++ -*-===//
#pragma once

#include "frontend/builtins/Builtins.h"

namespace spmdc {

/// The windows over one dimension.
struct SlidingWindow {
  int64_t size = 1, stride = 1, dilation = 1;
  int64_t low = 0, high = 0; ///< Padding.
  int64_t count = 0;         ///< Positions of the window.

  /// The number of elements from the first to the last, both included.
  int64_t extent() const;
};

/// One number for each of `rank` dimensions: from a list in argument `i`, or one for all; `least` or more.
std::vector<int64_t> perDimension(const Args &args, size_t i, size_t rank, int64_t least);

/// Sets the padding of argument `i` (`otherwise` if it is left out), and the number of windows that fit.
void setPadding(const Args &args, size_t i, std::string_view otherwise, llvm::ArrayRef<int64_t> sizes,
                llvm::MutableArrayRef<SlidingWindow> windows);

/// Pads the positions of x, which begin at dimension `dim`.
mlir::Value padded(Emitter &e, mlir::Value x, llvm::ArrayRef<SlidingWindow> windows, Scalar filler, int64_t dim = 1);

/// Element `tap` of each window over dimension `dim`.
mlir::Value tapOf(Emitter &e, mlir::Value x, int64_t dim, const SlidingWindow &window, int64_t tap);

} // namespace spmdc
