//===- CopyRing.h - copies and their readers, by mbarriers ------*- C++ -*-===//
//
// A ring of buffers in shared memory that all threads of a block fill by asynchronous copies, and all of its warpgroups
// read. Use number n of the ring is of buffer n % stages. Each buffer has two barriers:
// one for the arrival of all threads' copies, and one for the warps that do not read it any more. So a warpgroup waits
// for data and for free buffers alone, not for the others to be as far as it is: while one computes a softmax, another
// one multiplies.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "passes/gpu/GpuCode.h"
#include "passes/gpu/Phases.h"
#include "passes/kernel/StreamTiles.h"

namespace spmdc {

class CopyRing {
public:
  /// Bytes of shared memory of a ring's barriers.
  static constexpr int64_t getBarrierBytes(int64_t stages) { return kBarriersOfStage * kBarrierBytes * stages; }

  /// `offset`: of the barriers in the memory that the launch requests.
  CopyRing(mlir::OpBuilder &b, mlir::Location loc, ElementEmitter &emitter, GpuCode &code, int64_t offset,
           int64_t stages)
      : b(b), loc(loc), emitter(emitter), code(code), offset(offset), stages(stages) {}

  /// Prepares the barriers. One thread calls it, before a barrier of the block and all other functions.
  void initialize(int64_t threads, int64_t warps);
  /// Waits until no warp reads the buffer of this use any more, so that copies may begin. All threads call it.
  void waitForFree(mlir::Value use);
  /// Says that this thread has started its copies of this use, and all before. All threads call it once for each use.
  void announceCopies(mlir::Value use);
  /// Waits for all threads' copies of this use. Products of warpgroups may read them after `Warpgroups::publishCopies`.
  void waitForCopies(mlir::Value use);
  /// Says that this warp does not read this use any more. The condition holds once for each use in one lane of each
  /// warp.
  void releaseIf(mlir::Value condition, mlir::Value use);

private:
  enum class Kind { Arrived, Free };

  /// The barrier of a use's buffer, and the number of times that the ring has come round before.
  std::pair<mlir::Value, mlir::Value> barrierOf(Kind kind, mlir::Value use);
  mlir::Value addressOf(Kind kind, mlir::Value stage);

  mlir::OpBuilder &b;
  mlir::Location loc;
  ElementEmitter &emitter;
  GpuCode &code;
  int64_t offset = 0, stages = 0;
};

} // namespace spmdc
