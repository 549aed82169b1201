//===- ScratchEmitter.h - accumulators and caches of kernels ----*- C++ -*-===//
//
// Code that the emitters of all backends share: memory of a kernel for accumulators of reductions and for stage-local
// caches, and the device's coordinates.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "ir/array/ArrayOps.h"
#include "passes/kernel/ElementValues.h"

#include "mlir/IR/Builders.h"

#include <functional>

namespace spmdc {

/// The element type of an array.
mlir::Type elementTypeOf(mlir::Value array);
/// Bytes of an element in memory.
unsigned byteSizeOf(mlir::Type elementType);

/// For a reduce or a cumulative: its kind, the type of its accumulator (half precision accumulates in f32), and the
/// neutral value of the accumulator.
ReductionKind reductionKindOf(mlir::Operation *op);
mlir::Type accumulatorTypeOf(mlir::Operation *op);
mlir::Value emitIdentity(mlir::OpBuilder &builder, mlir::Location loc, mlir::Operation *op);

/// The coordinate (i64) along a mesh axis, from the parameter that points at all of them.
mlir::Value loadCoordinate(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value coordinates, unsigned axis);

/// Allocates local arrays of a kernel, in the memory types of ElementValues.h.
class ScratchEmitter {
public:
  /// `annotate`, if given, is called for every access.
  ScratchEmitter(mlir::OpBuilder &builder, mlir::Location loc,
                 std::function<void(mlir::Operation *)> annotate = nullptr)
      : b(builder), loc(loc), annotate(std::move(annotate)) {}

  /// Allocates on the stack at the insertion point, which must be the beginning of a function. 0: the type's own
  /// alignment.
  mlir::Value allocate(mlir::Type elementType, int64_t count, unsigned alignment = 0);
  mlir::Value load(mlir::Value memory, mlir::Type elementType, mlir::Value position);
  void store(mlir::Value memory, mlir::Type elementType, mlir::Value position, mlir::Value value);

private:
  mlir::Value address(mlir::Value memory, mlir::Type elementType, mlir::Value position);

  mlir::OpBuilder &b;
  mlir::Location loc;
  std::function<void(mlir::Operation *)> annotate;
};

} // namespace spmdc
