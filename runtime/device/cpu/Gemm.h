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

/// Panels of a right side that are packed while tiles are computed from others, one row of one panel at a step: a step
/// costs no time of its own where a burst of misses would hold up the tile. (Fetching whole blocks into the second
/// cache for later does not help: rows a power of two apart fall into the same few sets and push each other out.)
struct PackAhead {
  MatrixView rhs;     ///< Its rows lie without gaps (columnStride 1).
  void *packed;       ///< [panel][k][tileColumns].
  int64_t k = 0;      ///< Rows of the block.
  int64_t panels = 0; ///< Whole panels; with 0 there is nothing to do.
  int64_t row = 0;    ///< Next to be copied.
  int64_t panel = 0;  ///< Next to be copied.

  bool isDone() const { return panels == 0 || row == k; }
  int64_t getStepCount() const { return k * panels; }
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
  /// rows lie `stride` elements apart, or added to it. Meanwhile up to `steps` steps of `ahead` are done.
  void (*multiplyTile)(const void *lhs, const void *rhs, int64_t rows, int64_t k, int64_t columns, bool accumulate,
                       void *result, int64_t stride, PackAhead &ahead, int64_t steps) = nullptr;
  /// All steps of `ahead` that are left.
  void (*finishPacking)(PackAhead &ahead) = nullptr;
  /// For a few rows, where packing would cost more than it saves: all m rows x `columns` columns of a right side that
  /// starts at `rhs` and has one stride of 1. `sums` has room for m * columns packed elements.
  void (*multiplyUnpacked)(MatrixView lhs, int64_t m, int64_t k, MatrixView rhs, int64_t columns, void *sums,
                           void *result, int64_t n) = nullptr;
};

/// The kernel for operands of this type, or one without functions where there is none. Same type in and out, or i8
/// and u8 to i32.
GemmKernel findGemmKernel(DType operand, DType result);

} // namespace spmd
