//===- Gemm.h - our own blocked matrix product ------------------*- C++ -*-===//
//
// For the element types that oneDNN does not multiply (f64, integers, bool), and for f32 where there is no oneDNN.
// The right side is packed once into panels of a fixed width; then any block of rows can be computed alone. Each
// element is summed over k in an order that its shape alone decides: no blocking changes its bits.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/support/DType.h"

#include <cstdint>

namespace spmd {

/// A matrix in memory: element (i, j) at data + i * rowStride + j * columnStride, in elements.
struct MatrixView {
  const void *data = nullptr;
  int64_t rowStride = 0, columnStride = 1;
};

/// The functions of one combination of element types.
struct GemmKernel {
  /// Columns of a panel; bytes of one element of it.
  int64_t panelColumns = 0;
  int64_t packedElementBytes = 0;
  /// Packs rows [begin, end) of columns [panel * panelColumns, ...) of a matrix of n columns into `packed` (K *
  /// panelColumns elements in all), short panels filled up with zeros.
  void (*packPanel)(MatrixView rhs, int64_t begin, int64_t end, int64_t n, int64_t panel, void *packed) = nullptr;
  /// rows [0, m) x one panel: result(i, j) for the panel's columns. `result` points at the first row's first column
  /// of the whole matrix of n columns.
  void (*multiplyPanel)(MatrixView lhs, int64_t m, int64_t k, const void *packed, int64_t panel, int64_t n,
                        void *result) = nullptr;
  /// For a few rows, where packing would cost more than it saves: all m rows x `columns` columns of a right side that
  /// starts at `rhs` and has one stride of 1. `sums` has room for m * columns packed elements.
  void (*multiplyUnpacked)(MatrixView lhs, int64_t m, int64_t k, MatrixView rhs, int64_t columns, void *sums,
                           void *result, int64_t n) = nullptr;
};

/// The kernel for operands of this type, or one without functions where there is none. Same type in and out, or i8
/// and u8 to i32.
GemmKernel findGemmKernel(DType operand, DType result);

} // namespace spmd
