//===- GpuKernel.h - the code of a kernel for a GPU -------------*- C++ -*-===//
//
// The code of each thread of a mapped kernel (GpuMapping.h). All loads for the adjacent elements that a thread computes
// come before their stores, so that LLVM makes wide accesses of them even if an output has the memory of an input.
// Accumulators and stage-local caches are memory local to a thread, which LLVM turns into registers; only long rows
// keep theirs in shared memory, at positions that no other thread reads.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "passes/gpu/ContinuedScans.h"
#include "passes/gpu/GpuCode.h"
#include "passes/gpu/GpuMapping.h"
#include "passes/kernel/ElementEmitter.h"

namespace spmdc {

class GpuKernel {
public:
  GpuKernel(plan::KernelOp kernel, KernelSchedule schedule, const GpuLimits &limits, mlir::gpu::GPUModuleOp target);

  /// Adds the gpu.func.
  void emit();

private:
  using Emitted = ElementEmitter::Emitted;
  /// A value that is read back: the stage-local cache of an earlier stage, or an input's square in shared memory.
  struct Kept {
    mlir::Value value;
    Index index;
    unsigned stage = 0;
    bool isTile = false, isShared = false;
    mlir::Value memory;
  };

  //===--- The function (KernelEmitter.cpp) --------------------------------===//

  /// Adds aliasing attributes to the parameters.
  void describeArguments(mlir::gpu::GPUFuncOp function, unsigned inputs, unsigned buffers);
  void allocate();
  /// The hooks of the element emitter.
  Emitted readRowValue(ReduceOp op);
  std::optional<Emitted> readKept(mlir::Value value, llvm::ArrayRef<IndexExpr> index);
  mlir::Value keptPosition(const Kept &kept);

  //===--- Elements (KernelEmitter.cpp) ------------------------------------===//

  /// Starts the code of one element, whose stage-local caches are at `position`.
  void beginElement(mlir::Value position);
  void writeCaches();
  mlir::Value accumulate(mlir::Operation *op, llvm::ArrayRef<IndexExpr> index, int64_t number);
  /// Loads all operands of the current stage for each of `count` elements, before any computation.
  void loadAhead(int64_t count, llvm::function_ref<mlir::Value(int64_t)> bind);
  /// Emits a stage at `count` elements: `bind` returns the variables of element e and the position of its stage-local
  /// caches. Element e goes to accumulator e % `vector`. All reads come before all writes. `scans` are included if one
  /// thread runs along their dimension.
  void emitElements(const KernelSchedule::Stage &stage, int64_t count, int64_t vector,
                    llvm::function_ref<mlir::Value(int64_t)> bind, llvm::ArrayRef<KernelSchedule::Scan> scans = {});
  /// Whether each `vector` adjacent elements of the store are adjacent in memory, at a multiple of their size.
  bool isAligned(const KernelSchedule::Stage &stage, const KernelSchedule::Store &store, int64_t vector) const;
  /// Stores adjacent elements, of which the first is bound, at once. LLVM does not merge all stores of 16 bits that it
  /// could: it had paired some elements with the second of a pair of others.
  void storeVector(const KernelSchedule::Store &store, llvm::ArrayRef<mlir::Value> values);
  /// Emits code for threads that have a row.
  void whereRow(llvm::function_ref<void()> emit);
  void clear(mlir::Operation *op, int64_t count);
  void clearAccumulators(const KernelSchedule::Stage &stage, int64_t vector);
  void storeScan(const KernelSchedule::Scan &scan, mlir::Value accumulator);
  int64_t rowExtent() const;

  //===--- One thread for a row, or for some (RowThreads.cpp) ---------------===//

  void emitFlat(mlir::Value blockNumber);
  void emitThreadPerRow(mlir::Value blockNumber);
  /// Emits a stage of `vector` adjacent rows from `firstRow` on, for the elements of strip number `strip`.
  void emitStageOfThread(const KernelSchedule::Stage &stage, mlir::Value firstRow, mlir::Value strip);
  /// Adds up the sums of a row's strips through shared memory.
  void reduceOverStrips(const KernelSchedule::Stage &stage, mlir::Value strip);
  void emitTiles(mlir::Value blockNumber);
  /// Elements from one column of a square in shared memory to the next: an odd number avoids bank conflicts.
  int64_t tilePitch() const { return mapping.tileSide + 1; }

  //===--- Several threads for a row (RowGroups.cpp) ------------------------===//

  void emitGroupPerRow(mlir::Value blockNumber);
  void emitStageOfGroup(const KernelSchedule::Stage &stage);
  void reduceOverGroup(const KernelSchedule::Stage &stage, int64_t vector);
  /// Replaces the values of a block by those of its cluster.
  void reduceOverCluster(const KernelSchedule::Stage &stage, llvm::MutableArrayRef<mlir::Value> values);
  /// Waits for the other blocks of the cluster to arrive, if this one has arrived.
  void waitForCluster();
  /// A barrier for all threads of a row.
  void rowBarrier();
  /// A thread's groups of adjacent elements in each round: number `first` in the first round, `stride` further in each
  /// next one. In the first `full` rounds all threads have a group.
  struct RoundsOfThread {
    mlir::Value first;
    int64_t stride = 1, full = 0;
  };
  /// A warp takes adjacent groups in all its rounds if the kernel has a continued scan; otherwise the threads of a row
  /// take adjacent groups in each round.
  RoundsOfThread roundsOf(const GpuMapping::DomainMapping &inner, int64_t groups);
  void emitScanOfGroup(const KernelSchedule::Scan &scan, unsigned domainNumber);
  /// Emits `count` rounds from `firstRound` on. `isBounded`: of one round, in which some threads have no elements.
  void emitScanRounds(const KernelSchedule::Scan &scan, unsigned domainNumber, mlir::Value firstRound, int64_t count,
                      bool isBounded);

  //===--- Totals that blocks pass on (ContinuedScans.cpp) ------------------===//

  /// Returns how many blocks have begun before this one.
  mlir::Value takeBlockNumber();
  /// Emits the scan of a block's part of a line.
  void emitContinuedScan(const KernelSchedule::Scan &scan, unsigned domainNumber, const ContinuedScan &continuedScan);
  /// Publishes this block's total of a scan; returns the combination of those of all blocks before it in its line.
  mlir::Value emitTotalBefore(const ContinuedScan &scan, mlir::Value total);
  mlir::Value isEqual(mlir::Value x, mlir::Value y);
  mlir::Value minus(mlir::Value x, mlir::Value y);

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
  /// GroupPerRow: the row's number. Continued scans: their memory.
  mlir::Value rowNumber, state;
  std::optional<ContinuedScans> continued;
  /// The number of this block in its cluster, and whether it has arrived at a barrier of the cluster without waiting.
  mlir::Value clusterRank;
  bool hasArrived = false;
  llvm::DenseMap<mlir::Value, mlir::Value> pointers;
  llvm::SmallVector<mlir::Value> outputs;
  std::vector<Kept> keptValues;
  llvm::DenseMap<mlir::Operation *, mlir::Value> accumulators;
  /// One value for each of the adjacent rows that a thread computes.
  llvm::DenseMap<mlir::Operation *, llvm::SmallVector<Emitted, 1>> rowValues;
  unsigned currentStage = 0;
  /// Which of a thread's adjacent rows the current element belongs to.
  int64_t neighbour = 0;
  /// The values that were loaded before the current element's computation; null if there are none.
  struct LoadedAhead {
    mlir::Value value;
    Index index;
    mlir::Value loaded;
  };
  const std::vector<LoadedAhead> *ahead = nullptr;
  std::vector<std::vector<LoadedAhead>> aheadOfElements;
  /// True if this thread has a row; null: all threads have one.
  mlir::Value hasRow;
  /// The scope in which the current element's index is known, and the position of its stage-local caches.
  unsigned elementDepth = 0;
  mlir::Value slot;
  /// The same position in shared memory, where the elements of a block's threads are adjacent.
  mlir::Value sharedSlot;
  bool readsTiles = false;
};

} // namespace spmdc
