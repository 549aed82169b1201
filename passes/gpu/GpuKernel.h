//===- GpuKernel.h - the code of a kernel for a GPU -------------*- C++ -*-===//
//
// What each thread of a mapped kernel (GpuMapping.h) does. All loads of the neighbours that a thread computes stand in
// front of their stores, so that LLVM makes wide accesses of them also where an output lies over an input.
//
// Accumulators and stashes are memory local to a thread, which LLVM turns into registers; only long rows keep theirs in
// shared memory, at places that no other thread reads.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "passes/gpu/GpuCode.h"
#include "passes/gpu/GpuMapping.h"
#include "passes/kernel/ElementEmitter.h"

namespace spmdc {

class GpuKernel {
public:
  /// `sharedBytes`: what a block may have of shared memory.
  GpuKernel(plan::KernelOp kernel, KernelSchedule schedule, int64_t sharedBytes, mlir::gpu::GPUModuleOp target);

  /// Adds the gpu.func.
  void emit();

private:
  using Emitted = ElementEmitter::Emitted;
  /// A value that is read back: a stash of an earlier stage, or an input's square in shared memory.
  struct Kept {
    mlir::Value value;
    Index index;
    unsigned stage = 0;
    bool isTile = false, isShared = false;
    mlir::Value memory;
  };

  //===--- The function (KernelEmitter.cpp) --------------------------------===//

  /// What the memory of the parameters allows.
  void describeArguments(mlir::gpu::GPUFuncOp function, unsigned inputs, unsigned buffers);
  void allocate();
  /// What the element emitter asks for.
  Emitted readRowValue(ReduceOp op);
  std::optional<Emitted> readKept(mlir::Value value, llvm::ArrayRef<IndexExpr> index);
  mlir::Value keptPosition(const Kept &kept);

  //===--- Elements (KernelEmitter.cpp) ------------------------------------===//

  /// Lets what follows be computed for one element, whose stashes lie at `position`.
  void beginElement(mlir::Value position);
  void writeStashes();
  mlir::Value accumulate(mlir::Operation *op, llvm::ArrayRef<IndexExpr> index, int64_t number);
  /// Loads what the current stage needs of each of `count` elements, ahead of all computation.
  void loadAhead(int64_t count, llvm::function_ref<mlir::Value(int64_t)> bind);
  /// A stage at `count` elements: `bind` gives the variables of number e and the position of its stashes. Element e
  /// goes to accumulator e % `vector`. Everything is read before anything is written. `scans` go along, where one
  /// thread walks their dimension.
  void emitElements(const KernelSchedule::Stage &stage, int64_t count, int64_t vector,
                    llvm::function_ref<mlir::Value(int64_t)> bind, llvm::ArrayRef<KernelSchedule::Scan> scans = {});
  void clear(mlir::Operation *op, int64_t count);
  void clearAccumulators(const KernelSchedule::Stage &stage, int64_t vector);
  void storeScan(const KernelSchedule::Scan &scan, mlir::Value accumulator);
  int64_t rowExtent() const;

  //===--- One thread for a row, or for some (RowThreads.cpp) ---------------===//

  void emitFlat(mlir::Value blockNumber);
  void emitThreadPerRow(mlir::Value blockNumber);
  /// A stage of `vector` neighbouring rows from `firstRow` on, the elements of strip number `strip`.
  void emitStageOfThread(const KernelSchedule::Stage &stage, mlir::Value firstRow, mlir::Value strip);
  /// The sums of a row's strips, which meet in shared memory.
  void reduceOverStrips(const KernelSchedule::Stage &stage, mlir::Value strip);
  void emitTiles(mlir::Value blockNumber);
  /// Elements from one column of a square in shared memory to the next: an odd number keeps the banks apart.
  int64_t tilePitch() const { return mapping.tileSide + 1; }

  //===--- Several threads for a row (RowGroups.cpp) ------------------------===//

  void emitGroupPerRow(mlir::Value blockNumber);
  void emitStageOfGroup(const KernelSchedule::Stage &stage);
  void reduceOverGroup(const KernelSchedule::Stage &stage, int64_t vector);
  void emitScanOfGroup(const KernelSchedule::Scan &scan, unsigned domainNumber);

  plan::KernelOp kernel;
  KernelSchedule schedule;
  KernelBody body;
  GpuMapping mapping;
  mlir::gpu::GPUModuleOp target;
  mlir::Location loc;
  mlir::OpBuilder b;
  ElementEmitter emitter;
  GpuCode code;

  mlir::Value thread, lane, warp, warpLane, coordinates;
  llvm::DenseMap<mlir::Value, mlir::Value> pointers;
  llvm::SmallVector<mlir::Value> outputs;
  std::vector<Kept> keptValues;
  llvm::DenseMap<mlir::Operation *, mlir::Value> accumulators;
  /// One for each of the neighbouring rows that a thread computes.
  llvm::DenseMap<mlir::Operation *, llvm::SmallVector<Emitted, 1>> rowValues;
  unsigned currentStage = 0;
  /// Which of a thread's neighbouring rows the current element belongs to.
  int64_t neighbour = 0;
  /// The values that were loaded before the current element's computation; null if there are none.
  struct LoadedAhead {
    mlir::Value value;
    Index index;
    mlir::Value loaded;
  };
  const std::vector<LoadedAhead> *ahead = nullptr;
  std::vector<std::vector<LoadedAhead>> aheadOfElements;
  /// Whether this thread stores; null: always.
  mlir::Value storesHere;
  /// The scope in which the current element's index is known, and where its stashes lie.
  unsigned elementDepth = 0;
  mlir::Value slot;
  /// The same in shared memory, where the threads of a block have their places side by side.
  mlir::Value sharedSlot;
  bool readsTiles = false;
};

} // namespace spmdc
