//===- LoopEmitter.h - loops of a kernel for a CPU --------------*- C++ -*-===//
//
// Emits loops over the emitter's scopes, with metadata for LLVM: that no iteration of a parallel loop touches memory
// that another one writes (access groups), and that the other loops are neither unrolled nor vectorised.
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
    llvm::SmallVector<mlir::Value> carried; ///< The values as the body sees them.
    mlir::LLVM::AccessGroupAttr group;      ///< Parallel loops: no iteration touches memory that another writes.
    /// The loop is neither unrolled nor vectorised.
    bool isPlain = false;
    /// A parallel loop of which vectors are computed one after the other: long code for a few iterations takes long to
    /// compile.
    bool isCompact = false;
    /// A parallel loop of which all vectors have a mask, so that the last one need not be full: without, LLVM adds a
    /// loop over narrower vectors and one over single elements, in which a short row spends most of its time.
    bool isMasked = false;
  };

  /// Opens a loop over [low, high); the code emitted next is its body.
  Loop open(mlir::Value low, mlir::Value high, int64_t step, mlir::ValueRange initial = {}, bool isParallel = false);
  /// Closes it with the values for the next iteration; returns the loop's results.
  mlir::ValueRange close(Loop &loop, mlir::ValueRange next = {});
  /// Emits `onTrue` where the condition (i1) holds, else `onFalse` if there is one.
  void ifThen(mlir::Value condition, llvm::function_ref<void()> onTrue, llvm::function_ref<void()> onFalse = nullptr);
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
  /// The groups of the open loops, innermost last; null for loops whose iterations depend on one another.
  llvm::SmallVector<mlir::LLVM::AccessGroupAttr> groups;
};

} // namespace spmdc
