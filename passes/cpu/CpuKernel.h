//===- CpuKernel.h - the loops of a kernel for a CPU ------------*- C++ -*-===//
//
// Parallel loops carry metadata that no iteration depends on another (LoopEmitter.h), so that LLVM vectorises them
// without run-time checks, and the bits of a row never depend on the addresses of buffers.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "passes/cpu/CpuUnits.h"
#include "passes/cpu/Interior.h"
#include "passes/cpu/LoopEmitter.h"
#include "passes/kernel/ElementEmitter.h"
#include "passes/kernel/ScratchEmitter.h"

#include "mlir/IR/BuiltinOps.h"

namespace spmdc {

class CpuKernel {
public:
  CpuKernel(plan::KernelOp kernel, KernelSchedule schedule, const CpuUnits &units, mlir::ModuleOp target);

  /// Adds the two functions.
  void emit();

private:
  using Lanes = KernelSchedule::Lanes;
  using Loop = LoopEmitter::Loop;
  struct CacheMemory {
    const KernelSchedule::StageCache *stageCache;
    unsigned stage;
    mlir::Value memory;
  };

  //===--- The memory of a kernel (KernelEmitter.cpp) -------------------------===//

  /// Allocates memory for the accumulators of adjacent rows, and for stage-local caches.
  void allocate();
  /// Lanes::Rows: the number of adjacent rows in one block.
  int64_t chooseRowBlock() const;
  /// The number of lanes of which all rows are computed before the next ones; all lanes where that gains nothing.
  int64_t chooseLaneBlock() const;
  /// The position of the current element in a stage-local cache.
  mlir::Value cachePosition(unsigned stage);
  std::optional<ElementEmitter::Emitted> readCache(mlir::Value value, llvm::ArrayRef<IndexExpr> index);
  ElementEmitter::Emitted rowValue(ReduceOp op);

  //===--- One iteration of a stage (KernelEmitter.cpp) ---------------------===//

  void emitStores(const KernelSchedule::Stage &stage);
  mlir::Value step(mlir::Operation *op, mlir::Value accumulator, llvm::ArrayRef<IndexExpr> index, bool mayReorder);
  void storeScan(const KernelSchedule::Scan &scan, mlir::Value accumulator);

  //===--- Streamed outputs (StreamedStores.cpp) ----------------------------===//

  /// An output that is computed block by block into `memory`, and written past the caches.
  struct Stream {
    mlir::Value memory;
    mlir::Value isInPlace; ///< Whether the output is an input too, where that is known in a run alone; else null.
  };
  /// Elements of one block: 4 KiB of f32, so that those of all inputs and outputs fit the first-level cache.
  static constexpr int64_t kStreamElements = 1024;
  void chooseStreams();
  /// Writes `count` elements of the output if it is streamed: from position `first` of its memory to `position` of the
  /// output (null: that of the store, at the current values of the variables).
  void streamBlock(const KernelSchedule::Store &store, mlir::Value first, mlir::Value count, mlir::Value position = {});
  /// Whether blocks of streamed outputs hold several rows: rows are shorter than a block, and adjacent in all outputs.
  bool streamsRowsTogether() const;
  /// Emits the loop over blocks of streamed outputs, each with the loop over its rows.
  void emitBlocksOfRows(llvm::function_ref<void(mlir::Value low, mlir::Value high)> emitRows);
  void finishStreams();

  //===--- Reductions of adjacent rows (LaneReductions.cpp) -----------------===//

  /// Emits `emitBody` in a scope of its own, where `bindVariables` gives the variables of a domain their values.
  void emitIteration(llvm::function_ref<void()> bindVariables, llvm::function_ref<void()> emitBody);
  /// Rows [base, base + count) in the lanes of a vector: memory holds one accumulator for each.
  void emitStageOfBlock(const KernelSchedule::Stage &stage, const IndexExpr &laneVar, mlir::Value base,
                        mlir::Value count);
  /// The iterations of the stage's innermost loop that emitStageOfBlock computes between reading and writing an
  /// accumulator.
  int64_t countTogether(const KernelSchedule::Stage &stage) const;
  /// Whether all iterations of a row are emitted one after the other, in one loop over rows in vectors: they are few.
  bool isUnrolled() const;
  /// One row of an unrolled kernel: accumulators are values.
  void emitUnrolledStage(const KernelSchedule::Stage &stage);
  void emitUnrolledRows(const IndexExpr &laneVar, mlir::Value low, mlir::Value high);

  //===--- Loops (RowLoops.cpp) ---------------------------------------------===//

  /// True if each row is one iteration, without reductions.
  bool isOneLoop() const;
  /// Whether its innermost loop, if it copies, copies few bytes at a time.
  bool copiesShortRuns() const;

  /// Whether a loop over this many elements of a row, or some of them, takes less time with masks.
  bool isFasterMasked(int64_t extent) const;
  /// One row: accumulators are loop-carried values.
  void emitStageOfRow(const KernelSchedule::Stage &stage);
  /// All rows, for Lanes::Inner.
  void emitRowsOneByOne();
  /// Emits rows [low, high) of the last dimension in vectors, segment by segment: one loop for the interior, another
  /// for the other rows.
  void emitLanes(const IndexExpr &laneVar, mlir::Value low, mlir::Value high);
  void emitSegment(const LaneReads &reads, const IndexExpr &laneVar, mlir::Value low, mlir::Value high);
  void emitLanesWith(std::vector<IndexAssumption> assumed, const IndexExpr &laneVar, mlir::Value low, mlir::Value high);
  /// Returns the begin and the end of the interior within [low, high).
  std::pair<mlir::Value, mlir::Value> emitInterior(llvm::ArrayRef<IndexAssumption> interior, unsigned lane,
                                                   mlir::Value low, mlir::Value high);
  /// All rows, for Lanes::Rows.
  void emitRowsSideBySide();
  /// All rows, for Lanes::Tiles.
  void emitTiles();

  plan::KernelOp kernel;
  const CpuUnits units;
  KernelSchedule schedule;
  KernelBody body;
  mlir::ModuleOp target;
  mlir::Location loc;
  mlir::OpBuilder b;
  ElementEmitter emitter;
  LoopEmitter loops;
  ScratchEmitter scratch;

  mlir::Value begin, end, coordinates;
  llvm::DenseMap<mlir::Value, mlir::Value> pointers;
  llvm::SmallVector<mlir::Value> outputs;
  std::vector<CacheMemory> stageCaches;
  llvm::DenseMap<unsigned, Stream> streams; ///< By the number of the output.
  mlir::Value streamPosition;               ///< The current element in the memory of each stream.
  mlir::Value rowInBlock;                   ///< If blocks hold several rows: where the current one begins in the block.
  llvm::DenseMap<mlir::Operation *, mlir::Value> accumulators;
  llvm::DenseMap<mlir::Operation *, ElementEmitter::Emitted> rowValues;
  unsigned currentStage = 0;
  bool isRare = false; ///< Whether the loops that are emitted run over few elements.
  int64_t rowBlock = 1;
  /// The scope of the innermost loop, and the row's number in its block for Lanes::Rows.
  unsigned loopDepth = 0;
  mlir::Value lane;
};

} // namespace spmdc
