//===- Gemm.h - our own matrix product: packing and tiles -------*- C++ -*-===//
//
// Both sides are copied into tiles in the order in which they are read, so that a product of two blocks runs from the
// L1 and L2 caches, as Goto and van de Geijn ("Anatomy of High-Performance Matrix Multiplication", 2008) and BLIS do.
// Each element is summed over k in order, so the blocking does not change its bits.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/device/cpu/CpuIsa.h"
#include "runtime/support/DType.h"

#include <cstdint>

namespace spmd {

/// A matrix in memory: element (i, j) at data + i * rowStride + j * columnStride, in elements.
struct MatrixView {
  const void *data = nullptr;
  int64_t rowStride = 0, columnStride = 1;
};

/// Elements of a line that are `stride` apart.
struct LineRun {
  int64_t offset = 0, stride = 1, count = 0; ///< Of the first element, from the line's; in elements.
};

/// Rows of a left side, or columns of a right side, wherever they are in memory: the sum of `data`, a line's start and
/// a position in the runs, which are the same for all lines. Together the runs have as many elements as k.
struct Lines {
  const void *data = nullptr;
  const int64_t *starts = nullptr;
  int64_t count = 0;
  const LineRun *runs = nullptr;
  int64_t runCount = 0;
};

/// Panels of a right side that are packed while tiles are computed from other panels, in steps of one unit of one
/// panel: steps hide their cache misses behind the tile's arithmetic, where a burst of misses would stall it.
/// (Prefetching full blocks into the L2 cache does not help: rows a power of two apart map to the same few sets and
/// evict each other.)
struct PackAhead {
  MatrixView rhs;     ///< Its rows are contiguous (columnStride 1).
  void *packed;       ///< [panel][unit][tileColumns].
  int64_t k = 0;      ///< Rows of the block.
  int64_t units = 0;  ///< Units of k, the last of which may be partly zero.
  int64_t panels = 0; ///< Number of full panels; 0: nothing to pack.
  int64_t unit = 0;   ///< The next unit to pack.
  int64_t panel = 0;  ///< The next panel to pack.

  bool isDone() const { return panels == 0 || unit == units; }
  int64_t getStepCount() const { return units * panels; }
};

/// The place of one tile of the result, strides in elements.
struct TileResult {
  void *result = nullptr;
  int64_t stride = 0;
  /// Sums between blocks of k: the result itself where it has their type (canAccumulate), else scratch memory, which is
  /// unused if there is one block.
  void *sums = nullptr;
  int64_t sumStride = 0;
  bool isFirst = true, isLast = true; ///< Whether this block of k is the first or last one.
};

/// Adjacent products of a batch whose operands and results have the same type: their matrices are one behind the other,
/// [m, k], [k, n] and [m, n].
struct SmallProducts {
  /// Both sides stay in the L1 cache. Columns of a transposed right side are at most those of a tile: they are copied.
  static constexpr int64_t mostM = 64, mostN = 64, mostK = 64;
  int64_t count = 0, m = 0, n = 0, k = 0;
  MatrixView lhs, rhs; ///< Of the first product.
  void *result = nullptr;
};

/// The functions of one combination of element types. A packed *unit* holds `group` adjacent elements of k of one row
/// or column, for instructions that multiply and add several at once.
struct GemmKernel {
  /// Rows and columns of a tile of the result; elements of k in a unit; bytes of a unit, which are those of a sum.
  int64_t tileRows = 0, tileColumns = 0, group = 1, unitBytes = 0;
  /// Whether the result has the type of the sums.
  bool canAccumulate = false;
  /// Packs `rows` (at most tileRows) rows x k columns of a left side as [unit][tileRows]; missing rows are undefined.
  void (*packLhs)(MatrixView lhs, int64_t rows, int64_t k, void *packed) = nullptr;
  /// Packs k rows x `columns` of a right side as panels [panel][unit][tileColumns]; missing elements are zero.
  void (*packRhs)(MatrixView rhs, int64_t k, int64_t columns, void *packed) = nullptr;
  /// The same for at most tileRows rows, and for at most tileColumns columns: one panel.
  void (*packLhsLines)(const Lines &lines, void *packed) = nullptr;
  void (*packRhsLines)(const Lines &lines, void *packed) = nullptr;
  /// Multiplies one tile as below, with rows that are not packed: their runs have stride 1. Null for types that packing
  /// widens.
  void (*multiplyLines)(const Lines &lhs, const void *rhs, int64_t columns, TileResult target) = nullptr;
  /// Multiplies one tile: the first `rows` rows and `columns` columns of packed lhs times packed rhs. Interleaves up to
  /// `steps` steps of `ahead`.
  void (*multiplyTile)(const void *lhs, const void *rhs, int64_t rows, int64_t k, int64_t columns, TileResult target,
                       PackAhead &ahead, int64_t steps) = nullptr;
  /// Runs all remaining steps of `ahead`.
  void (*finishPacking)(PackAhead &ahead) = nullptr;
  /// For a few rows, for which packing would cost more than it saves: multiplies all m rows with `columns` columns of a
  /// right side that starts at `rhs` and has one stride of 1; the left side's rows are contiguous if the right side's
  /// columns are. `sums` has room for m * columns sums.
  void (*multiplyUnpacked)(MatrixView lhs, int64_t m, int64_t k, MatrixView rhs, int64_t columns, void *sums,
                           MatrixView result) = nullptr;
  /// Null for types other than f32 and f64.
  void (*multiplySmall)(const SmallProducts &products) = nullptr;
};

/// Returns the kernel for these types, or one with null functions if there is none. Supported: equal types, bf16 and
/// f16 to f32, integers of 8 and 16 bits to i32, unsigned ones of them to u32. bf16 and f16 are summed in f32 and
/// rounded once.
GemmKernel findGemmKernel(DType operand, DType result, CpuIsa isa);

} // namespace spmd
