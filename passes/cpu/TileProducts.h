//===- TileProducts.h - products of small tiles on a matrix unit *- C++ -*-===//
//
// The products of a streamed kernel (StreamedLoops.h) of bf16 by Intel's Advanced Matrix Extensions (Intel 64
// Architectures Software Developer's Manual, volume 1, chapter 18). A register has 16 rows of 64 bytes; an instruction
// adds to 16 x 16 sums the products of 16 rows of 32 elements and of 32 rows of 16 elements, of which two adjacent ones
// are a pair. Sums are f32; weights are rounded to bf16. Subnormal numbers count as zero.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "passes/cpu/LoopEmitter.h"
#include "passes/kernel/ScratchEmitter.h"
#include "passes/kernel/StreamedProducts.h"

namespace spmdc {

/// Columns of a tile: two steps of 32.
inline constexpr int64_t kMatrixColumns = 64;

class TileProducts {
public:
  /// Allocates memory at the insertion point, which must be the beginning of the kernel's function.
  TileProducts(mlir::OpBuilder &builder, mlir::Location loc, ElementEmitter &emitter, LoopEmitter &loops,
               ScratchEmitter &scratch);

  /// Whether all factors are bf16 of full steps.
  static bool canMultiply(const StreamedProducts &products);

  /// Shapes the registers of the thread; releases them.
  void enter();
  void leave();

  /// A factor with features as pairs, bf16: element (feature, lane) is at this position.
  mlir::Value placeOfHeld(mlir::Value feature, mlir::Value lane, int64_t width);
  /// Where a result's element is: [lane][feature].
  mlir::Value placeOfResult(mlir::Value feature, mlir::Value lane, int64_t width);

  /// Rows of bf16 in memory: element (i, j) is at start + i * stride + j.
  struct Rows {
    mlir::Value memory;
    mlir::Value start, stride; ///< i64.
  };
  /// Returns the rows of a tile, or a copy of them in `scratch` if there are fewer than kMatrixColumns.
  Rows readWhole(const Rows &rows, int64_t width, mlir::Value count, mlir::Value scratch);
  /// Copies rows with columns as pairs to `pairs`: zeros behind `count`.
  void pairColumns(const Rows &rows, int64_t width, mlir::Value count, mlir::Value pairs);

  /// For all c < count: scores[c, lane] = sum over d < width of held[d, lane] * streamed[c, d]; f32. Others are
  /// undefined.
  void multiply(mlir::Value held, const Rows &streamed, int64_t width, mlir::Value scores);

  /// Writes weights[c, lane] (f32) of all c < count as rows of lanes, and zeros behind them, for `add`.
  void turnWeights(mlir::Value weights, mlir::Value count);
  /// For all d < width: results[lane, d] = results[lane, d] * scales[lane] + the sum over c of the turned weights and
  /// the pairs of streamed[c, d]. Without `scales`, results are not scaled.
  void add(mlir::Value pairs, int64_t width, mlir::Value results, mlir::Value scales);

private:
  mlir::Value number(int64_t value) { return emitter.emitConstant(value); }
  mlir::Value plus(mlir::Value x, mlir::Value y);
  mlir::Value times(mlir::Value x, int64_t y);
  mlir::Value address(mlir::Value memory, mlir::Type type, mlir::Value position);
  mlir::Value loadVector(mlir::Type vector, mlir::Value address);
  void storeVector(mlir::Value value, mlir::Value address);
  /// 16 pairs of the lower and the upper 16-bit elements.
  mlir::Value pair(mlir::Value lower, mlir::Value upper);
  /// The transpose of 16 vectors of 16 elements.
  llvm::SmallVector<mlir::Value> transpose(llvm::SmallVector<mlir::Value> rows);
  /// The same vector, whose origin LLVM does not see.
  mlir::Value hide(mlir::Value vector);
  void scaleResults(mlir::Value results, int64_t width, mlir::Value scales);
  void call(llvm::StringRef intrinsic, mlir::ValueRange operands);
  mlir::Value tile(int64_t number);
  /// Registers 0 to 3: sums of 2 x 2 tiles, whose rows are `stride` bytes apart; 4 and 5: rows; 6 and 7: pairs.
  void loadTile(int64_t number, mlir::Value address, mlir::Value stride);
  void storeTile(int64_t number, mlir::Value address, mlir::Value stride);
  /// Adds `steps` products of 32 rows and 32 pairs to registers 0 to 3.
  void addSteps(int64_t steps, llvm::function_ref<mlir::Value(int64_t half, mlir::Value step)> rowsAt,
                mlir::Value rowStride, llvm::function_ref<mlir::Value(int64_t half, mlir::Value step)> pairsAt);

  mlir::OpBuilder &b;
  mlir::Location loc;
  ElementEmitter &emitter;
  LoopEmitter &loops;
  mlir::Type bits, f32, pairVector, halfVector, floatVector;
  mlir::Value turned, shapes;
};

} // namespace spmdc
