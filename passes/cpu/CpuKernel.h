//===- CpuKernel.h - the loops of a kernel for a CPU ------------*- C++ -*-===//
//
// One function per kernel loads the buffers' addresses and calls an inner one, always inlined, whose parameters say
// which buffers cannot overlap. A buffer that the plan may reuse for an output (passes/kernel/Overwrites.h) says
// nothing; that such loops carry nothing from one iteration to the next is said on the loops (LoopEmitter.h), so that
// LLVM vectorises without run-time checks, and the bits of a row never depend on where buffers lie.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "passes/cpu/Interior.h"
#include "passes/cpu/LoopEmitter.h"
#include "passes/kernel/ElementEmitter.h"
#include "passes/kernel/ScratchEmitter.h"

#include "mlir/IR/BuiltinOps.h"

namespace spmdc {

class CpuKernel {
public:
  CpuKernel(plan::KernelOp kernel, KernelSchedule schedule, mlir::ModuleOp target);

  /// Adds the two functions.
  void emit();

private:
  using Lanes = KernelSchedule::Lanes;
  using Loop = LoopEmitter::Loop;
  struct StashMemory {
    const KernelSchedule::StageCache *stash;
    unsigned stage;
    mlir::Value memory;
  };

  //===--- The function and its memory (KernelEmitter.cpp) ------------------===//

  void emitOuter(mlir::LLVM::LLVMFuncOp outer, mlir::LLVM::LLVMFuncOp inner, size_t buffers);
  void describeArguments(mlir::LLVM::LLVMFuncOp inner);
  void emitInner(mlir::LLVM::LLVMFuncOp inner);
  /// Row scratch: accumulators of rows side by side, and stashes.
  void allocate();
  /// Position of the current element in a stash.
  mlir::Value stashPosition(unsigned stage);
  std::optional<ElementEmitter::Emitted> readStash(mlir::Value value, llvm::ArrayRef<IndexExpr> index);
  ElementEmitter::Emitted rowValue(ReduceOp op);

  //===--- One iteration of a stage (KernelEmitter.cpp) ---------------------===//

  void emitStores(const KernelSchedule::Stage &stage);
  mlir::Value step(mlir::Operation *op, mlir::Value accumulator, llvm::ArrayRef<IndexExpr> index, bool mayReorder);
  void storeScan(const KernelSchedule::Scan &scan, mlir::Value accumulator);

  //===--- Loops (RowLoops.cpp) ---------------------------------------------===//

  /// One row: accumulators are loop-carried values.
  void emitStageOfRow(const KernelSchedule::Stage &stage);
  void emitRowsOneByOne();
  /// Rows [base, base + count) side by side: accumulators lie in memory, one for each.
  void emitStageOfBlock(const KernelSchedule::Stage &stage, const IndexExpr &laneVar, mlir::Value base,
                        mlir::Value count);
  /// Rows [low, high) of the last dimension side by side, segment by segment: in one loop those of the interior, in
  /// another the others.
  void emitLanes(const IndexExpr &laneVar, mlir::Value low, mlir::Value high);
  void emitSegment(const LaneReads &reads, const IndexExpr &laneVar, mlir::Value low, mlir::Value high);
  void emitLanesWith(std::vector<IndexAssumption> assumed, const IndexExpr &laneVar, mlir::Value low, mlir::Value high);
  /// From where to where, between low and high, the interior is.
  std::pair<mlir::Value, mlir::Value> emitInterior(llvm::ArrayRef<IndexAssumption> interior, unsigned lane,
                                                   mlir::Value low, mlir::Value high);
  void emitRowsSideBySide();
  void emitTiles();

  plan::KernelOp kernel;
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
  std::vector<StashMemory> stashes;
  llvm::DenseMap<mlir::Operation *, mlir::Value> accumulators;
  llvm::DenseMap<mlir::Operation *, ElementEmitter::Emitted> rowValues;
  unsigned currentStage = 0;
  /// The scope of the innermost loop, and the row's number in its block where rows lie side by side.
  unsigned loopDepth = 0;
  mlir::Value lane;
};

} // namespace spmdc
