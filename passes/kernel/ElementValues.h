//===- ElementValues.h - elements in registers and in memory ----*- C++ -*-===//
//
// In registers bf16 and f16 are f32 (rounded after each operation, as memory would round them), bool is i1, and
// integers are signless; in memory bool is one byte.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "ir/array/ArrayOps.h"

#include "mlir/IR/Builders.h"

namespace spmdc {

/// How f32 is rounded to bf16.
enum class Bf16Rounding {
  /// In integers. NaNs keep their payload.
  Integers,
  /// By a conversion (arith.truncf) that the backend has an instruction for. The instruction may replace NaNs by
  /// another NaN, so what only moves is never converted: `toMemory` relies on values in registers being rounded.
  Conversion
};

/// The type in registers and in memory.
mlir::Type registerType(mlir::Type elementType);
mlir::Type memoryType(mlir::Type elementType);
/// Between them. `roundElement` gives the register value that memory would give back.
mlir::Value toMemory(mlir::OpBuilder &builder, mlir::Location loc, mlir::Type elementType, mlir::Value value,
                     Bf16Rounding rounding = Bf16Rounding::Integers);
mlir::Value fromMemory(mlir::OpBuilder &builder, mlir::Location loc, mlir::Type elementType, mlir::Value value);
mlir::Value roundElement(mlir::OpBuilder &builder, mlir::Location loc, mlir::Type elementType, mlir::Value value,
                         Bf16Rounding rounding = Bf16Rounding::Integers);

/// One step of a reduction in registers. `mayReorder`: sums and products of floats may be made in another order.
mlir::Value combineElements(mlir::OpBuilder &builder, mlir::Location loc, mlir::Type elementType, ReductionKind kind,
                            mlir::Value x, mlir::Value y, bool mayReorder);
/// The value that changes nothing.
mlir::Value elementIdentity(mlir::OpBuilder &builder, mlir::Location loc, mlir::Type elementType, ReductionKind kind);

} // namespace spmdc
