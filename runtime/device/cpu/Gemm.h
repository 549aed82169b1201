//===- Gemm.h - our own matrix product: packing and tiles -------*- C++ -*-===//
//
// Both sides are copied into tiles that lie in the order in which they are read, so that a product of two blocks runs
// from the first and second cache, as Goto and van de Geijn ("Anatomy of High-Performance Matrix Multiplication",
// 2008) and BLIS do. Each element is summed over k one after another: no blocking changes its bits.
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

/// Memory that will be read next: it is asked for while a tile is computed, so that packing does not wait for it.
struct Prefetch {
  const char *first = nullptr;
  int64_t runs = 0, bytes = 0; ///< Pieces of so many bytes,
  int64_t stride = 0;          ///< so many bytes apart.
};

/// The functions of one combination of element types.
struct GemmKernel {
  /// Rows and columns of a tile of the result; bytes of one packed element.
  int64_t tileRows = 0, tileColumns = 0, packedElementBytes = 0;
  /// Whether a result can be added to in steps of k: it holds what the sums are made of.
  bool canAccumulate = false;
  /// Packs `rows` (at most tileRows) rows x k columns of a left side as [k][tileRows]; missing rows stay undefined.
  void (*packLhs)(MatrixView lhs, int64_t rows, int64_t k, void *packed) = nullptr;
  /// Packs k rows x `columns` of a right side as panels [panel][k][tileColumns], the last filled up with zeros.
  void (*packRhs)(MatrixView rhs, int64_t k, int64_t columns, void *packed) = nullptr;
  /// One tile: the first `rows` rows and `columns` columns of packed lhs times packed rhs, written to `result`, whose
  /// rows lie `stride` elements apart, or added to it. `next` is fetched meanwhile.
  void (*multiplyTile)(const void *lhs, const void *rhs, int64_t rows, int64_t k, int64_t columns, bool accumulate,
                       void *result, int64_t stride, const Prefetch &next) = nullptr;
  /// For a few rows, where packing would cost more than it saves: all m rows x `columns` columns of a right side that
  /// starts at `rhs` and has one stride of 1. `sums` has room for m * columns packed elements.
  void (*multiplyUnpacked)(MatrixView lhs, int64_t m, int64_t k, MatrixView rhs, int64_t columns, void *sums,
                           void *result, int64_t n) = nullptr;
};

/// The kernel for operands of this type, or one without functions where there is none. Same type in and out, or i8
/// and u8 to i32.
GemmKernel findGemmKernel(DType operand, DType result);

} // namespace spmd
