//===- LoopEmitter.h - loops of a kernel for a CPU --------------*- C++ -*-===//
//
// Loops over the emitter's scopes, with what LLVM has to know of them: that the iterations of a parallel loop touch
// nothing that another one writes (access groups), and that others stay loops of single iterations.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "passes/kernel/ElementEmitter.h"

namespace spmdc {

class LoopEmitter {
public:
  LoopEmitter(mlir::OpBuilder &builder, mlir::Location loc, ElementEmitter &emitter)
      : b(builder), loc(loc), emitter(emitter) {}

  struct Loop {
    mlir::Block *header = nullptr, *exit = nullptr;
    mlir::Value iv, step;
    llvm::SmallVector<mlir::Value> carried; ///< As the body sees them.
    mlir::LLVM::AccessGroupAttr group;      ///< Of parallel loops: no iteration touches what another one writes.
    /// Stays a loop of single iterations.
    bool isPlain = false;
  };

  /// Opens a loop over [low, high); what is emitted next is its body.
  Loop open(mlir::Value low, mlir::Value high, int64_t step, mlir::ValueRange initial = {}, bool isParallel = false);
  /// Closes it with the values for the next iteration; returns what the loop leaves.
  mlir::ValueRange close(Loop &loop, mlir::ValueRange next = {});
  /// Opens the loops of a domain, outermost first; `carried` goes through all of them.
  llvm::SmallVector<Loop> openDomain(const KernelSchedule::Domain &domain, llvm::SmallVector<mlir::Value> &carried,
                                     bool isParallel);
  void closeDomain(llvm::SmallVector<Loop> &loops, llvm::SmallVector<mlir::Value> &carried);
  /// Binds the variables of a row-major position.
  void bindRow(mlir::Value row, llvm::ArrayRef<IndexExpr> vars, llvm::ArrayRef<int64_t> shape);
  /// Puts a memory access into the group of the innermost loop.
  void annotate(mlir::Operation *access);

private:
  mlir::OpBuilder &b;
  mlir::Location loc;
  ElementEmitter &emitter;
  /// Of the loops that are open, innermost last; null for loops whose iterations depend on one another.
  llvm::SmallVector<mlir::LLVM::AccessGroupAttr> groups;
};

} // namespace spmdc
