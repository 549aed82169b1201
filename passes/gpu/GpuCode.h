//===- GpuCode.h - blocks, loops and warps ----------------------*- C++ -*-===//
//
// The parts that kernels for GPUs consist of: structured control flow over the emitter's scopes, scratch memory (of a
// thread and of a block), shuffles, and reductions over the threads that share a row. KernelEmitter composes them.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "passes/gpu/GpuMapping.h"
#include "passes/kernel/ElementEmitter.h"
#include "passes/kernel/ScratchEmitter.h"

#include "mlir/Dialect/GPU/IR/GPUDialect.h"

namespace spmdc {

/// The alignment of each allocation of shared memory: that of the widest access.
inline constexpr int64_t kSharedAlignment = 16;
/// That of the memory that a launch requests: swizzled panels (Warpgroups.h) begin at its multiples.
inline constexpr int64_t kLaunchSharedAlignment = 1024;

/// A single instruction from sm_80 on, which keeps subnormal numbers; LLVM writes it in integers for older chips.
inline constexpr Bf16Rounding kGpuRounding = Bf16Rounding::Conversion;

/// Adds the function of a kernel with this number of threads: a pointer for each input and output, one for memory that
/// is cleared before the launch (`hasState`), then the coordinates. A multiprocessor must have room for
/// `residentBlocks` blocks; 0: for the default of spmdc-convert-to-nvvm. The builder is at the function's begin
/// afterwards.
mlir::gpu::GPUFuncOp addKernelFunction(mlir::OpBuilder &b, plan::KernelOp kernel, mlir::gpu::GPUModuleOp target,
                                       int64_t blockThreads, int64_t residentBlocks, bool hasState = false);

class GpuCode {
public:
  GpuCode(mlir::OpBuilder &b, mlir::Location loc, ElementEmitter &emitter, mlir::gpu::GPUModuleOp module,
          std::string symbol)
      : b(b), loc(loc), emitter(emitter), scratch(b, loc), module(module), symbol(std::move(symbol)) {}

  //===--- Control flow ----------------------------------------------------===//

  /// Runs `emitBody` in a scope of its own.
  void inScope(llvm::function_ref<void()> emitBody);
  void ifThen(mlir::Value condition, llvm::function_ref<void()> emitBody);
  /// Emits a loop: for i = low; i < high; i += step.
  void loop(mlir::Value low, mlir::Value high, mlir::Value step, llvm::function_ref<void(mlir::Value)> emitBody);

  //===--- Arithmetic of positions (i64) -----------------------------------===//

  mlir::Value add(mlir::Value x, mlir::Value y);
  mlir::Value mul(mlir::Value x, int64_t y);
  mlir::Value isLess(mlir::Value x, mlir::Value y);
  mlir::Value isLess(mlir::Value x, int64_t y) { return isLess(x, emitter.emitConstant(y)); }
  /// x / y and x % y of a position below `limit`; in 32 bits if these suffice.
  std::pair<mlir::Value, mlir::Value> divRem(mlir::Value x, int64_t y, int64_t limit);
  /// Binds all variables but the last for a row-major position; returns the position along the last (null if there are
  /// no variables).
  mlir::Value bindOuter(mlir::Value position, llvm::ArrayRef<IndexExpr> vars, llvm::ArrayRef<int64_t> shape);

  //===--- Memory ----------------------------------------------------------===//

  /// Scratch of a thread; must be called at the function's beginning. Becomes registers where positions are constant.
  mlir::Value allocateLocal(mlir::Type elementType, int64_t count) { return scratch.allocate(elementType, count); }
  /// Scratch of a block.
  mlir::Value allocateShared(mlir::Type elementType, int64_t count);
  /// The shared memory that the launch requests, from this byte on.
  mlir::Value getLaunchShared(int64_t offset);
  mlir::Value load(mlir::Value memory, mlir::Type elementType, mlir::Value position) {
    return scratch.load(memory, elementType, position);
  }
  void store(mlir::Value memory, mlir::Type elementType, mlir::Value position, mlir::Value value) {
    scratch.store(memory, elementType, position, value);
  }

  /// The address of a word of 64 bits in memory that blocks share (ContinuedScans.h).
  mlir::Value wordAt(mlir::Value memory, mlir::Value position);
  /// Adds 1 to the lower half of such a word; returns the number before it (i64).
  mlir::Value countUp(mlir::Value address);
  void writeWord(mlir::Value address, mlir::Value word);
  /// Reads the word again and again until its upper half is not 0.
  mlir::Value awaitWord(mlir::Value address);

  //===--- Threads ---------------------------------------------------------===//

  mlir::Value getThread(int64_t blockThreads);
  mlir::Value getBlock(int64_t gridBlocks);
  void barrier();
  /// A barrier for the threads of one row in a block: a warp, or the block.
  void rowBarrier(int64_t threads);
  /// The two halves of a barrier of a cluster: what a thread writes before it arrives, threads of all blocks see after
  /// they have waited. All threads of the cluster must call them in turn.
  void arriveAtCluster();
  void waitForCluster();
  /// Arrives as well, but shows other blocks nothing that was written; so it waits for no write.
  void announceToCluster();
  /// The address at which a block of the cluster has what this block has at `memory`, which is shared. The block must
  /// have begun, and may not end before the access.
  mlir::Value addressInBlock(mlir::Value memory, mlir::Value block);
  /// Another lane's value of any register type: lane ^ offset, lane - offset, or lane number `offset`.
  mlir::Value shuffle(mlir::Value value, mlir::gpu::ShuffleMode mode, int64_t offset);
  /// A number below 2^32 that is the same in all lanes of a warp: ptxas keeps what is read from one lane, and all that
  /// follows from it, once for the warp.
  mlir::Value readFirstLane(mlir::Value number);
  /// Combines the values of every `lanes` neighbours (a power of two) in a butterfly; all lanes get the same bits.
  mlir::Value reduceWarp(mlir::Type elementType, ReductionKind kind, mlir::Value value, int64_t lanes = kWarpThreads);

private:
  mlir::OpBuilder &b;
  mlir::Location loc;
  ElementEmitter &emitter;
  ScratchEmitter scratch;
  mlir::gpu::GPUModuleOp module;
  std::string symbol;
  unsigned sharedCount = 0;
};

} // namespace spmdc
