//===- StreamedLoops.h - the loops of a streamed kernel for a CPU ---------*- C++ -*-===//
//
// An iteration of the parallel range holds kStreamedRows rows of its first factors, transposed, and streams tiles of
// columns (passes/kernel/StreamedProducts.h). Rows are in the lanes of vectors: maxima, sums and scales of rows need no
// exchange between lanes. For each tile, products of explicit vectors (VectorProducts.h) write scores, loops over rows
// that LLVM vectorises compute weights, and products add them to the results. All of it stays in the second-level
// cache.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "passes/cpu/CpuUnits.h"
#include "passes/cpu/LoopEmitter.h"
#include "passes/cpu/TileProducts.h"
#include "passes/cpu/VectorProducts.h"
#include "passes/kernel/PositionMask.h"
#include "passes/kernel/ScratchEmitter.h"

#include "mlir/IR/BuiltinOps.h"

namespace spmdc {

class StreamedLoops {
public:
  /// `units`: of the target.
  StreamedLoops(plan::KernelOp kernel, StreamedProducts products, const CpuUnits &units, mlir::ModuleOp target);

  /// Adds the two functions (KernelFunction.h).
  void emit();

private:
  using Loop = LoopEmitter::Loop;
  using Emitted = ElementEmitter::Emitted;
  /// A factor whose rows a block holds: [feature, lane], or the pairs of TileProducts.
  struct Held {
    StreamedProducts::Factor factor;
    mlir::Value memory;
  };
  /// A factor that is streamed. For vectors, 16-bit floats are converted, a tile at a time.
  struct Streamed {
    StreamedProducts::Factor factor;
    mlir::Value converted;        ///< Null: read from the array.
    VectorProducts::Rows rows;    ///< Of the current tile.
    mlir::Value copied, pairs;    ///< For a matrix unit: memory for scores' columns, and for results'.
    TileProducts::Rows tile = {}; ///< The current tile, for scores.
  };
  /// Different weights of the results, [column, lane].
  struct Weight {
    mlir::Value value, memory;
  };

  void allocate();
  void emitBlock(mlir::Value position);
  void holdRows();
  void emitTile();
  /// Computes the rows of the tile at `firstColumn` of each streamed factor.
  void streamColumns();
  void multiplyScores();
  void emitWeights(bool isFull);
  void emitSoftmax();
  void emitProducts();
  void storeResults();
  void storeProduct(unsigned number);
  void storeRow(unsigned number);
  std::optional<Emitted> readElement(mlir::Value value, llvm::ArrayRef<IndexExpr> index);

  /// Emits the body for each column of the tile, with the column bound.
  void forColumns(llvm::function_ref<void()> emitBody);
  /// Emits the body for each row of the block in a loop that LLVM vectorises, with the row bound. `allLanes`: also for
  /// lanes behind the last row of the array, which stand for that row.
  void forLanes(bool allLanes, llvm::function_ref<void()> emitBody);
  void fill(mlir::Value memory, double value, int64_t count);
  /// The position of the factor's row 0, and the distance between rows, which `variable` counts.
  std::pair<mlir::Value, int64_t> placeOf(const IndexExpr &position, const IndexExpr &variable);
  mlir::Value at(mlir::Value row);
  mlir::Value number(double value);
  mlir::Value load(mlir::Value memory, mlir::Value position) { return scratch.load(memory, type, position); }
  void store(mlir::Value memory, mlir::Value position, mlir::Value value) {
    scratch.store(memory, type, position, value);
  }
  /// Writes an element of an output, rounded.
  void storeOutput(unsigned number, mlir::Value position, mlir::Value value);
  Streamed &findStreamed(const StreamedProducts::Factor &factor);
  mlir::Value add(mlir::Value x, mlir::Value y);
  mlir::Value mul(mlir::Value x, int64_t y);

  plan::KernelOp kernel;
  StreamedProducts products;
  mlir::ModuleOp target;
  mlir::Location loc;
  mlir::OpBuilder b;
  KernelBody body;
  KernelSchedule schedule; ///< Only its index expressions.
  ElementEmitter emitter;
  LoopEmitter loops;
  ScratchEmitter scratch;
  mlir::Type type; ///< Of scores, weights and sums.
  VectorProducts vectors;
  const bool hasTiles;               ///< A matrix unit multiplies.
  std::optional<TileProducts> tiles; ///< Then not null, once the function is open.
  const int64_t tileColumns;
  std::optional<PositionMask> mask;

  llvm::DenseMap<mlir::Value, mlir::Value> pointers;
  llvm::SmallVector<mlir::Value> outputs;
  mlir::Value coordinates;
  llvm::SmallVector<Held> held;
  llvm::SmallVector<Streamed> streamed;
  llvm::SmallVector<mlir::Value> scores; ///< By score, [column, lane].
  llvm::SmallVector<Weight> weights;
  /// By result: [feature, lane], of a matrix unit [lane, feature], or [lane]; null for a softmax's own.
  llvm::SmallVector<mlir::Value> accumulators;
  llvm::SmallVector<mlir::Value> tileSums; ///< By result: the sum of a tile, which is added to the accumulator.
  mlir::Value maxima, sums, scales, bases; ///< Of the softmax's rows.
  mlir::Value firstRow, firstColumn;       ///< Of the block, and of the tile.
  mlir::Value columnCount;                 ///< Of the tile.
  mlir::Value column, lane;                ///< In the tile, and in the block.
  bool isKept = false;                     ///< The mask keeps all weights of the tile whose code is emitted.
};

} // namespace spmdc
