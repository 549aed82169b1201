//===- Phases.h - barriers with phases, in shared memory --------*- C++ -*-===//
//
// An mbarrier (PTX ISA, "mbarrier"; sm_90) counts arrivals. As many as it was prepared for complete a phase, and the
// next one begins. Phases have numbers from 0 on; a wait names the parity of one, so it must not be two phases behind.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "mlir/IR/Builders.h"

namespace spmdc {

class Phases {
public:
  Phases(mlir::OpBuilder &b, mlir::Location loc) : b(b), loc(loc) {}

  /// Prepares the barrier for phases of `count` arrivals. One thread calls it, before a barrier of the block.
  void initialize(mlir::Value barrier, int64_t count);
  /// Waits until the phase before the current one has this parity (i64). A new barrier counts as one whose phase of
  /// parity 1 is complete.
  void wait(mlir::Value barrier, mlir::Value parity);
  /// Arrives if the condition holds for this thread. There is no branch: between the start of a warpgroup's product and
  /// the wait for it, one could separate the threads.
  void arriveIf(mlir::Value condition, mlir::Value barrier);

private:
  void emit(const char *text, const char *constraints, mlir::Value barrier, mlir::Value word);

  mlir::OpBuilder &b;
  mlir::Location loc;
};

} // namespace spmdc
