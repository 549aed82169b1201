//===- SlidingWindow.h - what convolution and pooling look at ---*- C++ -*-===//
#pragma once

#include "frontend/Builtins.h"

namespace spmdc {

/// The windows over one dimension.
struct SlidingWindow {
  int64_t size = 1, stride = 1, dilation = 1;
  int64_t low = 0, high = 0; ///< Padding.
  int64_t count = 0;         ///< Positions of the window.

  /// From the first to behind the last element.
  int64_t extent() const;
};

/// One number for each of `rank` dimensions: as many as argument `i` gives, or one for all; `least` or more.
std::vector<int64_t> perDimension(const Args &args, size_t i, size_t rank, int64_t least);

/// What argument `i` says of padding (`otherwise` where it is not given), and how often windows fit then.
void setPadding(const Args &args, size_t i, std::string_view otherwise, llvm::ArrayRef<int64_t> sizes,
                llvm::MutableArrayRef<SlidingWindow> windows);

/// x with its positions padded, which begin at dimension `dim`.
mlir::Value padded(Emitter &e, mlir::Value x, llvm::ArrayRef<SlidingWindow> windows, Scalar filler, int64_t dim = 1);

/// The element at place `tap` of each window over dimension `dim`.
mlir::Value tapOf(Emitter &e, mlir::Value x, int64_t dim, const SlidingWindow &window, int64_t tap);

} // namespace spmdc
