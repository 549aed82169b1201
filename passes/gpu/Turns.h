//===- Turns.h - the warpgroups of a block start products by turns -*- C++ -*-===//
//
// Warpgroups that start products at the same time also compute the softmax of their scores at the same time, while
// matrix units have nothing to do. So each starts the products of a tile behind those of the warpgroup before it
// (Shah et al., FlashAttention-3, 2024, "pingpong scheduling"): while one computes, the others' products run.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "passes/gpu/GpuCode.h"
#include "passes/gpu/Phases.h"

namespace spmdc {

class Turns {
public:
  /// `offset`: of the barriers in the memory that the launch requests. `group`: the number of this thread's warpgroup.
  /// `isFirstLane`: of its warp.
  Turns(mlir::OpBuilder &b, mlir::Location loc, ElementEmitter &emitter, GpuCode &code, int64_t offset, int64_t groups,
        mlir::Value group, mlir::Value isFirstLane)
      : b(b), loc(loc), emitter(emitter), code(code), offset(offset), groups(groups), group(group),
        isFirstLane(isFirstLane) {}

  /// Prepares the barriers. One thread calls it, before a barrier of the block and all other functions.
  void initialize();
  /// Waits for the turn of this warpgroup; turns are counted from 0 on. All threads call it once for each.
  void take(mlir::Value turn);
  /// Lets the next warpgroup have its turn. All threads call it once for each `take`.
  void pass();

private:
  mlir::Value barrierOf(mlir::Value number);

  mlir::OpBuilder &b;
  mlir::Location loc;
  ElementEmitter &emitter;
  GpuCode &code;
  int64_t offset = 0, groups = 0;
  mlir::Value group, isFirstLane;
};

} // namespace spmdc
